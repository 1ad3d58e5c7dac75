package control

import (
	"context"
	"errors"
	"io"
	"net/http"

	"sidetone/internal/timeline"
)

// Backend is the agent behind the API. Its methods may be called concurrently, and do not block for long. None of the lists
// that they return is nil: JSON has [], never null.
type Backend interface {
	Status() Status
	Devices() Devices
	// Watch returns the present state, without Process, and a channel that is closed at the next change.
	Watch() (Status, <-chan struct{})
	// Push applies what the vendor's software says. holder names the connection it came over:
	// a push without a lease ends with Release(holder). It returns when the list that holds it
	// is on its way to the clients, and need not wait for their answers. Errors: *Refusal, that of ctx.
	Push(ctx context.Context, product string, r PushRequest, holder string) (PushAnswer, error)
	// Release ends the pushes of holder that have no lease. It comes once, after the last Push
	// of that holder has returned.
	Release(holder string)
	// Timeline is what has happened in the last hours.
	Timeline() timeline.Timeline
	// Refresh reads everything again and sends the whole list again.
	Refresh()
	// Reload reads settings and catalogue again. An error means that the old ones are in force.
	Reload() error
	// Pause stops telling clients what is known, for as long as r says. It replaces a pause that is in force. Errors: *Refusal, if it cannot
	// be kept for the next start of the agent; then nothing has changed.
	Pause(r PauseRequest) (Pause, error)
	// Resume ends the pause, if there is one.
	Resume()
	// SetLogLevel changes the lowest level that is logged, until the agent ends. Errors: *Refusal, or one that lists the levels.
	SetLogLevel(level string) error
	// Stop ends the agent in order, with that list in clients. It returns when clients have been told, or ctx ends.
	Stop(ctx context.Context, list StopList)
	// Upgrade has the program on disk show that it starts. Then it returns, and the agent makes way for that program. Errors: *Refusal, that
	// of ctx; then nothing has changed.
	Upgrade(ctx context.Context) error
	// Record writes a recording of what the agent is told and what it says, some whole lines of JSON at
	// a time, until ctx or the agent ends; the last line says that it is the last. It ends early
	// if write fails. write may block; the agent does not wait for it.
	Record(ctx context.Context, write func(lines []byte) error) error
	// Bundle writes a zip archive of a few MB for support, with serial numbers and names of users masked.
	Bundle(w io.Writer) error
}

// Refusal is an error of a Backend that the caller can do something about.
type Refusal struct {
	Kind       error    // one of those below
	Message    string   // a sentence: what was wrong, and what to do
	Candidates []string // what could be meant
}

func (r *Refusal) Error() string { return r.Message }
func (r *Refusal) Unwrap() error { return r.Kind }

// The kinds of Refusal.
var (
	ErrUnknown   = errors.New("no such product")           // 404
	ErrAmbiguous = errors.New("several could be meant")    // 409
	ErrStale     = errors.New("overtaken by a later push") // 409
	ErrInvalid   = errors.New("not valid")                 // 400
	ErrConflict  = errors.New("not now, or not this way")  // 409
	ErrStopping  = errors.New("the agent is stopping")     // 503
)

// A StopList is what an agent that is stopped leaves in clients.
type StopList string

// The lists.
const (
	ListByPolicy StopList = ""        // as the setting rpc.on_exit has it
	ListEmpty    StopList = "empty"   // none
	ListUnmuted  StopList = "unmuted" // the last one without mutes, for another agent that begins at once
)

// kinds is how each kind of Refusal is answered.
var kinds = []struct {
	kind   error
	status int
	code   Code
}{
	{ErrUnknown, http.StatusNotFound, CodeUnknown},
	{ErrAmbiguous, http.StatusConflict, CodeAmbiguous},
	{ErrStale, http.StatusConflict, CodeStale},
	{ErrInvalid, http.StatusBadRequest, CodeInvalid},
	{ErrConflict, http.StatusConflict, CodeConflict},
	{ErrStopping, http.StatusServiceUnavailable, CodeStopping},
}
