package rpcclient

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"sidetone/internal/health"
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

// meanings holds, for each refusal, what it means in a word, and its code.
var meanings = map[phaseCode]struct {
	words string
	code  health.Code
}{
	{PhaseConnect, CodeClosed}:          {"closed", health.ClientNotReady},
	{PhaseConnect, CodeUnsupportedData}: {"bad data", health.BadData},
	{PhaseConnect, CodeAbnormal}:        {"busy", health.ClientBusy},
	{PhaseConnect, CodeInvalidClientID}: {"invalid client id", health.ClientIDRefused},
	{PhaseConnect, CodeInvalidOrigin}:   {"invalid origin", health.OriginRefused},
	{PhaseConnect, CodeRateLimited}:     {"rate limited", health.Retried},
	{PhaseConnect, CodeTokenRevoked}:    {"token revoked", health.TokenRevoked},
	{PhaseConnect, CodeInvalidVersion}:  {"invalid version", health.VersionRefused},
	{PhaseConnect, CodeInvalidEncoding}: {"invalid encoding", health.EncodingRefused},
	{PhaseCommand, CodeClosed}:          {"failed in the client", health.Retried},
	{PhaseCommand, CodeUnsupportedData}: {"bad data", health.BadData},
	{PhaseCommand, CodeInvalidClientID}: {"the device list fails validation", health.ListRefused},
	{PhaseCommand, codeUnknownCommand}:  {"unknown command", health.CommandUnknown},
	{PhaseCommand, CodeNotAuthorized}:   {"not authorized", health.NotAuthorized},
}

func (e *Error) meaning() string { return meanings[phaseCode{e.Phase, e.Code}].words }

// ReasonOf is the condition that err is; nil for none.
func ReasonOf(err error) *health.Condition {
	if err == nil {
		return nil
	}
	if known, ok := health.Of(err); ok {
		return &known
	}
	return &health.Wrap(err, codeOf(err), health.Warning, nil).Condition
}

func codeOf(err error) health.Code {
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
		return cmp.Or(meanings[phaseCode{refusal.Phase, refusal.Code}].code, health.Unexplained)
	case errors.Is(err, errNoOrigin):
		return health.OriginRefused
	case errors.Is(err, ErrUnsupported):
		return health.NotCertified
	case errors.Is(err, ErrNoClient):
		return health.NobodyThere
	case errors.Is(err, ErrNoAnswer):
		return health.NoAnswer
	default:
		return health.Unexplained
	}
}

// remedy is what to do about err as a part of a line in the log, if there is anything.
func remedy(err error) slog.Attr {
	return given("remedy", remedyOf(ReasonOf(err)))
}

// given is an attribute of the log that is left out where it is empty.
func given(key, value string) slog.Attr {
	if value == "" {
		return slog.Attr{}
	}
	return slog.String(key, value)
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
	return !errors.Is(err, ErrLost) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, errReconnect) && !errors.Is(err, errOwnerChanged)
}
