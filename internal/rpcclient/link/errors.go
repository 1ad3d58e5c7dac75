package link

import (
	"cmp"
	"errors"
	"fmt"

	"sidetone/internal/health"
)

// Phase is the part of a conversation in which an error occurred. The same code means different things in each.
type Phase string

// The phases.
const (
	PhaseConnect Phase = "connect" // close code of a WebSocket, or HTTP 400
	PhaseCommand Phase = "command" // an answer with evt ERROR
)

// The codes that the client uses (rules R21, R43, R44).
const (
	CodeClosed          = 1000 // connect: a normal close; command: the command failed inside the client
	CodeUnsupportedData = 1003 // bad JSON, or a binary frame
	CodeAbnormal        = 1006 // no READY within 10 s, as when its tokens are spent, or too many connections (rule R80)
	CodeInvalidClientID = 4000 // connect: application id; command: the payload fails validation
	CodeInvalidOrigin   = 4001
	CodeRateLimited     = 4002 // connect; see CodeUnknownCommand
	CodeTokenRevoked    = 4003
	CodeInvalidVersion  = 4004
	CodeInvalidEncoding = 4005
	CodeNotAuthorized   = 4006 // command: not authenticated, or the scope is missing
)

// CodeUnknownCommand is what CodeRateLimited means in answer to a command.
const CodeUnknownCommand = CodeRateLimited

// Refusal is a refusal by the client. As the target of errors.Is, a zero Phase or Code matches any.
type Refusal struct {
	Phase   Phase
	Code    int
	Message string // the client's own words, may be empty
}

func (e *Refusal) Error() string {
	s := fmt.Sprintf("refused by the client: %s error %d", e.Phase, e.Code)
	if meaning := meanings[phaseCode{e.Phase, e.Code}].words; meaning != "" {
		s += " (" + meaning + ")"
	}
	if e.Message != "" {
		s += fmt.Sprintf(": %q", e.Message)
	}
	return s
}

// Is makes it match a Refusal with the same phase and code.
func (e *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && (t.Phase == "" || t.Phase == e.Phase) && (t.Code == 0 || t.Code == e.Code)
}

// afterReady turns a normal close into a lost connection: after READY it is no refusal, the client merely goes away.
func afterReady(err error) error {
	if errors.Is(err, &Refusal{Phase: PhaseConnect, Code: CodeClosed}) {
		return fmt.Errorf("%w: %s", ErrLost, err.Error())
	}
	return err
}

type phaseCode struct {
	phase Phase
	code  int
}

// meanings holds a short explanation and the health code of each refusal, and whether the client will refuse in the same way until it
// restarts (rules R19 to R21).
var meanings = map[phaseCode]struct {
	words     string
	code      health.Code
	permanent bool
}{
	{PhaseConnect, CodeClosed}:          {"closed", health.ClientNotReady, false},
	{PhaseConnect, CodeUnsupportedData}: {"bad data", health.BadData, false},
	{PhaseConnect, CodeAbnormal}:        {"busy", health.ClientBusy, false},
	{PhaseConnect, CodeInvalidClientID}: {"invalid client id", health.ClientIDRefused, false},
	{PhaseConnect, CodeInvalidOrigin}:   {"invalid origin", health.OriginRefused, true},
	{PhaseConnect, CodeRateLimited}:     {"rate limited", health.Retried, false},
	{PhaseConnect, CodeTokenRevoked}:    {"token revoked", health.TokenRevoked, false},
	{PhaseConnect, CodeInvalidVersion}:  {"invalid version", health.VersionRefused, true},
	{PhaseConnect, CodeInvalidEncoding}: {"invalid encoding", health.EncodingRefused, true},
	{PhaseCommand, CodeClosed}:          {"failed in the client", health.Retried, false},
	{PhaseCommand, CodeUnsupportedData}: {"bad data", health.BadData, false},
	{PhaseCommand, CodeInvalidClientID}: {"the device list fails validation", health.ListRefused, false},
	{PhaseCommand, CodeUnknownCommand}:  {"unknown command", health.CommandUnknown, false},
	{PhaseCommand, CodeNotAuthorized}:   {"not authorized", health.NotAuthorized, true},
}

// Health returns the code of what the refusal means to the user.
func (e *Refusal) Health() health.Code {
	return cmp.Or(meanings[phaseCode{e.Phase, e.Code}].code, health.Unexplained)
}

// IsPermanent reports whether the client will refuse in the same way until it restarts.
func (e *Refusal) IsPermanent() bool { return meanings[phaseCode{e.Phase, e.Code}].permanent }

// Errors that are not refusals.
var (
	ErrNoClient    = errors.New("no client found")   // nobody listens on the port
	ErrNoAnswer    = errors.New("no answer in time") // the server took a message and did not answer
	ErrLost        = errors.New("connection lost")
	ErrUnheard     = errors.New("before any byte of the client") // always with ErrLost: as by a relay with no client behind it
	ErrNotRPC      = errors.New("not the client's RPC server")   // it answers, but not as the client would
	ErrOtherAnswer = fmt.Errorf("%w: it answers GET / in its own way", ErrNotRPC)
	// ErrBroken means that a kept connection broke during a request, for example because the server closed it at the same moment. The
	// link is still usable.
	ErrBroken = fmt.Errorf("%w with the request", ErrLost)
)
