package rpcclient

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"sidetone/internal/health"
)

// phase is the part of a conversation in which an error occurred. The same code means different things in each.
type phase string

const (
	phaseConnect phase = "connect" // close code of a WebSocket, or HTTP 400
	phaseCommand phase = "command" // an answer with evt ERROR
)

// The codes that the client uses (rules R21, R43, R44).
const (
	codeClosed          = 1000 // connect: a normal close; command: the command failed inside the client
	codeUnsupportedData = 1003 // bad JSON, or a binary frame
	codeAbnormal        = 1006 // no READY within 10 s, as when its tokens are spent, or too many connections (rule R80)
	codeInvalidClientID = 4000 // connect: application id; command: the payload fails validation
	codeInvalidOrigin   = 4001
	codeRateLimited     = 4002 // connect; see codeUnknownCommand
	codeTokenRevoked    = 4003
	codeInvalidVersion  = 4004
	codeInvalidEncoding = 4005
	codeNotAuthorized   = 4006 // command: not authenticated, or the scope is missing
)

// codeUnknownCommand is what codeRateLimited means in answer to a command.
const codeUnknownCommand = codeRateLimited

// refusalError is a refusal by the client. As the target of errors.Is, a zero Phase or Code matches any.
type refusalError struct {
	Phase   phase  `json:"phase"`
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"` // the client's own words, may be empty
}

func (e *refusalError) Error() string {
	s := fmt.Sprintf("refused by the client: %s error %d", e.Phase, e.Code)
	if meaning := meanings[phaseCode{e.Phase, e.Code}].words; meaning != "" {
		s += " (" + meaning + ")"
	}
	if e.Message != "" {
		s += fmt.Sprintf(": %q", e.Message)
	}
	return s
}

func (e *refusalError) Is(target error) bool {
	t, ok := target.(*refusalError)
	return ok && (t.Phase == "" || t.Phase == e.Phase) && (t.Code == 0 || t.Code == e.Code)
}

// afterReady turns a normal close into a lost connection: after READY it is no refusal, the client merely goes away.
func afterReady(err error) error {
	if errors.Is(err, &refusalError{Phase: phaseConnect, Code: codeClosed}) {
		return fmt.Errorf("%w: %s", errLost, err.Error())
	}
	return err
}

type phaseCode struct {
	phase phase
	code  int
}

// meanings holds a short explanation and the health code of each refusal, and whether the client will refuse in the same way until it
// restarts (rules R19 to R21).
var meanings = map[phaseCode]struct {
	words     string
	code      health.Code
	permanent bool
}{
	{phaseConnect, codeClosed}:          {"closed", health.ClientNotReady, false},
	{phaseConnect, codeUnsupportedData}: {"bad data", health.BadData, false},
	{phaseConnect, codeAbnormal}:        {"busy", health.ClientBusy, false},
	{phaseConnect, codeInvalidClientID}: {"invalid client id", health.ClientIDRefused, false},
	{phaseConnect, codeInvalidOrigin}:   {"invalid origin", health.OriginRefused, true},
	{phaseConnect, codeRateLimited}:     {"rate limited", health.Retried, false},
	{phaseConnect, codeTokenRevoked}:    {"token revoked", health.TokenRevoked, false},
	{phaseConnect, codeInvalidVersion}:  {"invalid version", health.VersionRefused, true},
	{phaseConnect, codeInvalidEncoding}: {"invalid encoding", health.EncodingRefused, true},
	{phaseCommand, codeClosed}:          {"failed in the client", health.Retried, false},
	{phaseCommand, codeUnsupportedData}: {"bad data", health.BadData, false},
	{phaseCommand, codeInvalidClientID}: {"the device list fails validation", health.ListRefused, false},
	{phaseCommand, codeUnknownCommand}:  {"unknown command", health.CommandUnknown, false},
	{phaseCommand, codeNotAuthorized}:   {"not authorized", health.NotAuthorized, true},
}

// reasonOf returns err as a condition; nil for a nil error.
func reasonOf(err error) *health.Condition {
	if err == nil {
		return nil
	}
	if known, ok := health.Of(err); ok {
		return &known
	}
	return &health.Wrap(err, codeOf(err), health.Warning, nil).Condition
}

func codeOf(err error) health.Code {
	var refusal *refusalError
	switch {
	case errors.As(err, &refusal):
		return cmp.Or(meanings[phaseCode{refusal.Phase, refusal.Code}].code, health.Unexplained)
	case errors.Is(err, errNoOrigin):
		return health.OriginRefused
	case errors.Is(err, errUnsupported):
		return health.NotCertified
	case errors.Is(err, errNoClient):
		return health.NobodyThere
	case errors.Is(err, errNoAnswer):
		return health.NoAnswer
	default:
		return health.Unexplained
	}
}

// remedy returns what to do about err as a log attribute, which is empty if nothing can be done.
func remedy(err error) slog.Attr { return nonEmpty("remedy", remedyOf(reasonOf(err))) }

// nonEmpty returns a log attribute, which is left out if the value is empty.
func nonEmpty(key, value string) slog.Attr {
	if value == "" {
		return slog.Attr{}
	}
	return slog.String(key, value)
}

// Errors that are not refusals.
var (
	errNoClient    = errors.New("no client found")                             // nothing on a socket or port has proved to be a client
	errUnsupported = errors.New("this client does not know certified devices") // it sends READY and never answers the command
	errNoAnswer    = errors.New("no answer in time")                           // the server took a message and did not answer
	errLost        = errors.New("connection lost")
	errUnheard     = errors.New("before any byte of the client") // always with errLost: as by a relay with no client behind it
	errNotRPC      = errors.New("not the client's RPC server")   // it answers, but not as the client would
)

// isPermanent reports whether the client will refuse in the same way until it restarts.
func isPermanent(err error) bool {
	refusal, ok := errors.AsType[*refusalError](err)
	return ok && meanings[phaseCode{refusal.Phase, refusal.Code}].permanent
}

// leavesOtherTransports reports whether another transport of the client is worth a try after err.
func leavesOtherTransports(err error) bool {
	if refusal, ok := errors.AsType[*refusalError](err); ok {
		return refusal.Phase == phaseConnect && refusal.Code == codeRateLimited
	}
	return !errors.Is(err, errLost) && !errors.Is(err, errUnsupported) && !errors.Is(err, errReconnect) && !errors.Is(err, errOwnerChanged)
}
