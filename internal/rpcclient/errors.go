package rpcclient

import (
	"errors"
	"fmt"
)

// Phase is the part of a conversation in which an error came.
type Phase string

// The phases. The same code means different things in each.
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
	CodeRateLimited     = 4002 // connect; see codeUnknownCommand
	CodeTokenRevoked    = 4003
	CodeInvalidVersion  = 4004
	CodeInvalidEncoding = 4005
	CodeNotAuthorized   = 4006 // command: not authenticated, or the scope is missing
)

// codeUnknownCommand is what CodeRateLimited means in answer to a command.
const codeUnknownCommand = CodeRateLimited

// Error is a refusal by the client. Compare with errors.As, or errors.Is against another
// *Error: a zero Phase or Code there matches any.
type Error struct {
	Phase   Phase
	Code    int
	Message string // the client's own words, may be empty
}

// Error says what was refused and the client's reason.
func (e *Error) Error() string {
	s := fmt.Sprintf("refused by the client: %s error %d", e.Phase, e.Code)
	if meaning := e.meaning(); meaning != "" {
		s += " (" + meaning + ")"
	}
	if e.Message != "" {
		s += fmt.Sprintf(": %q", e.Message)
	}
	return s
}

// Is makes a partly filled Error match.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && (t.Phase == "" || t.Phase == e.Phase) && (t.Code == 0 || t.Code == e.Code)
}

// afterReady tells an orderly end of a conversation from a refusal: a client that has greeted
// and then closes normally merely goes away.
func afterReady(err error) error {
	if errors.Is(err, &Error{Phase: PhaseConnect, Code: CodeClosed}) {
		return fmt.Errorf("%w: %s", ErrLost, err.Error())
	}
	return err
}

type phaseCode struct {
	phase Phase
	code  int
}

// meanings holds, for each refusal, what it means and what a person can do.
var meanings = map[phaseCode][2]string{
	{PhaseConnect, CodeClosed}:          {"closed", "the client is not ready, for example at its login screen; the next try is automatic"},
	{PhaseConnect, CodeUnsupportedData}: {"bad data", "report this: the client did not understand the message"},
	{PhaseConnect, CodeAbnormal}:        {"busy", "the client lets nobody in for now: others have used up its connections; the next try is automatic"},
	{PhaseConnect, CodeInvalidClientID}: {"invalid client id", "check vendor.client_id in the catalogue; the client says the same when it cannot reach its own servers, so the next try is automatic"},
	{PhaseConnect, CodeInvalidOrigin}:   {"invalid origin", "set vendor.rpc_origin in the catalogue to an origin registered for the application, unless another transport works, which is tried by itself"},
	{PhaseConnect, CodeRateLimited}:     {"rate limited", "the next try is automatic"},
	{PhaseConnect, CodeTokenRevoked}:    {"token revoked", "restart the client"},
	{PhaseConnect, CodeInvalidVersion}:  {"invalid version", "this client speaks another protocol version; update the agent"},
	{PhaseConnect, CodeInvalidEncoding}: {"invalid encoding", "this client speaks another encoding; update the agent"},
	{PhaseCommand, CodeClosed}:          {"failed in the client", "the next try is automatic"},
	{PhaseCommand, CodeUnsupportedData}: {"bad data", "report this: the client did not understand the message"},
	{PhaseCommand, CodeInvalidClientID}: {"the device list fails validation", "run 'sidetone catalogue check'; one bad device rejects the whole list"},
	{PhaseCommand, codeUnknownCommand}:  {"unknown command", "use the official client; this one does not know certified devices"},
	{PhaseCommand, CodeNotAuthorized}:   {"not authorized", "this transport needs an authorization that the application lacks; another one is tried"},
}

func (e *Error) meaning() string { return meanings[phaseCode{e.Phase, e.Code}][0] }

// Remedy says what a person can do about err, or "".
func Remedy(err error) string {
	var e *Error
	switch {
	case errors.As(err, &e):
		return meanings[phaseCode{e.Phase, e.Code}][1]
	case errors.Is(err, errNoOrigin):
		return meanings[phaseCode{PhaseConnect, CodeInvalidOrigin}][1]
	case errors.Is(err, ErrUnsupported):
		return "use the official client; this one is tried again when it restarts"
	case errors.Is(err, ErrNoClient):
		return "start the client; it is looked for again by itself"
	case errors.Is(err, ErrNoAnswer):
		return "the client did not greet or answer: it may hang or be busy; the next try is automatic"
	default:
		return ""
	}
}

// Conditions that are not refusals.
var (
	// ErrNoClient means that no socket and no port is held by what proves to be a client.
	ErrNoClient = errors.New("no client found")
	// ErrUnsupported means that a client greets and never answers the command.
	ErrUnsupported = errors.New("this client does not know certified devices")
	// ErrNoAnswer means that a server took a message and did not answer in time.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrLost means that the connection ended.
	ErrLost = errors.New("connection lost")
	// ErrNotRPC means that a server answers, but not as the client would.
	ErrNotRPC = errors.New("not the client's RPC server")
)

// isPermanent reports whether err will be the same until the client restarts (rules R19 to R21).
func isPermanent(err error) bool {
	var refusal *Error
	if !errors.As(err, &refusal) {
		return false
	}
	if refusal.Phase == PhaseCommand {
		return refusal.Code == CodeNotAuthorized
	}
	return refusal.Code == CodeInvalidOrigin || refusal.Code == CodeInvalidVersion || refusal.Code == CodeInvalidEncoding
}

// leavesOtherTransports reports whether another transport of the same client is worth a try after err.
func leavesOtherTransports(err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Phase == PhaseConnect && refusal.Code == CodeRateLimited
	}
	return !errors.Is(err, ErrLost) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, errMoved) && !errors.Is(err, errOwnerChanged)
}
