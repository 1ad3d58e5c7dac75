package control

import (
	"context"
	"errors"
	"io"
	"net/http"

	"sidetone/internal/timeline"
)

// Backend is the agent behind the API. Its methods may be called at the same time; they do not
// block for long.
type Backend interface {
	Status() Status
	Devices() Devices
	// Watch returns the present state and a channel that is closed at the next change.
	Watch() (Status, <-chan struct{})
	// Push applies what the vendor's software says. holder names the connection it came over:
	// a push without a lease ends with Release(holder). It waits until the list that holds it
	// has been given to the clients, but for no client's answer. Errors: *Refusal, that of ctx.
	Push(ctx context.Context, product string, r PushRequest, holder string) (PushAnswer, error)
	// Release ends the pushes of holder that have no lease. It comes once, after the last Push
	// of that holder has returned.
	Release(holder string)
	// Timeline is what has happened in the last hours.
	Timeline() timeline.Timeline
	// Refresh reads everything anew and sends the whole list again.
	Refresh()
	// Reload reads settings and catalogue again. An error means that the old ones are in force.
	Reload() error
	// Pause has clients told nothing of what is known, for as long as r says, in place of a pause that is in force.
	Pause(r PauseRequest) Pause
	// Resume ends the pause, if there is one.
	Resume()
	// SetLogLevel changes the least level that is logged, until the agent ends. An error says which there are. Errors also: *Refusal.
	SetLogLevel(level string) error
	// Stop ends the agent in order; with empty, nothing is left in clients, whatever the settings say. It returns when clients have been
	// told, or ctx ends.
	Stop(ctx context.Context, empty bool)
	// HandOver has another agent, of this user, go on in place of this one. It returns when this one has let go of clients, and of all that
	// only one agent can have; Release(holder) before HandedOver(holder) gives it back. Errors: *Refusal, that of ctx.
	HandOver(ctx context.Context, r HandoverRequest, holder string) (Handover, error)
	// HandedOver ends the agent: the other one has everything. Errors: *Refusal.
	HandedOver(holder string) error
	// HasLetGo reports whether another agent goes on, or is about to.
	HasLetGo() bool
	// Upgrade starts the program of this agent anew, for it to go on, and returns when it does, or has not come to that. Errors: *Refusal,
	// that of ctx.
	Upgrade(ctx context.Context) error
	// Record writes a recording of what the agent is told and what it says, whole lines of JSON at
	// a time, until ctx or the agent ends; the last line says that it is the last. It ends before
	// that when write fails. write may block; the agent goes on meanwhile.
	Record(ctx context.Context, write func(lines []byte) error) error
	// Metrics writes counters, gauges and histograms in the text format 0.0.4 of Prometheus.
	Metrics(w io.Writer) error
	// Bundle writes a zip archive for support, with serials and names of users masked. A few MB:
	// it is held in memory until it is complete.
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
