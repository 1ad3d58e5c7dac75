package fakeserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/strictyaml"
)

// A FaultKind is a way to misbehave. Its value is the name that [ParseFault] reads.
type FaultKind string

// The faults. Unless stated otherwise a fault applies to all transports, to
// existing connections as well as new ones, and a payload that it meets is
// recorded but not accepted.
const (
	// FaultNone is no fault.
	FaultNone FaultKind = ""
	// FaultRefuse closes the port and the IPC socket, or only the latter if it is
	// limited to IPC: new connections are refused, existing ones go on. Clearing
	// the fault opens them again.
	FaultRefuse FaultKind = "refuse"
	// FaultHang accepts connections and never sends anything.
	FaultHang FaultKind = "hang"
	// FaultCloseAfter closes the connection instead of answering every Nth
	// payload (Count, counted over all connections since the fault was set).
	FaultCloseAfter FaultKind = "close-after"
	// FaultDie resets the connection when part of a payload has been read: half
	// of an HTTP body, the first bytes of a WebSocket or IPC message. Nothing is
	// recorded.
	FaultDie FaultKind = "die"
	// FaultReadyLate sends READY on a new WebSocket or IPC connection only after
	// Delay; frames that arrive before it are lost.
	FaultReadyLate FaultKind = "ready-late"
	// FaultReadyNever never sends READY on a new WebSocket or IPC connection.
	FaultReadyNever FaultKind = "ready-never"
	// FaultCloseCode closes a new WebSocket or IPC connection with close code
	// Code before READY.
	FaultCloseCode FaultKind = "close-code"
	// FaultLogin is a client at its login screen: it closes an IPC connection
	// with code 1000 after the handshake. HTTP goes on.
	FaultLogin FaultKind = "login"
	// FaultOffline is a client that cannot reach its own servers to check a
	// client id: it refuses an HTTP request with status 400 and code 4000, and
	// closes a new WebSocket or IPC connection with 4000. [Desktop] still admits a
	// client id that it has admitted before, except over WebSocket.
	FaultOffline FaultKind = "offline"
	// FaultNoAnswer reads payloads and never answers them.
	FaultNoAnswer FaultKind = "no-answer"
	// FaultAnswerLate accepts the payload at once and answers after Delay.
	FaultAnswerLate FaultKind = "answer-late"
	// FaultWrongNonce accepts the payload and answers with another nonce.
	FaultWrongNonce FaultKind = "wrong-nonce"
	// FaultBadJSON accepts the payload and sends an answer that is not JSON.
	FaultBadJSON FaultKind = "bad-json"
	// FaultHuge accepts the payload and answers with 10 MiB.
	FaultHuge FaultKind = "huge"
	// FaultHalf accepts the payload and sends half of the answer, then nothing.
	FaultHalf FaultKind = "half"
	// FaultDeep accepts the payload and answers with JSON nested 100000 deep.
	FaultDeep FaultKind = "deep"
	// FaultExtraAnswer accepts the payload and, over WebSocket and IPC, sends a good
	// answer with a nonce that nobody sent before the real answer.
	FaultExtraAnswer FaultKind = "extra-answer"
	// FaultTwice accepts the payload and answers it twice, over WebSocket and IPC.
	FaultTwice FaultKind = "twice"
	// FaultError answers evt ERROR with Code and Message.
	FaultError FaultKind = "error"
	// FaultHTTPError answers HTTP status 400 with Code and Message.
	FaultHTTPError FaultKind = "http-error"
	// FaultSquatter is another program on the port: it answers every request, even
	// for a WebSocket, with a 404 HTML page. IPC goes on.
	FaultSquatter FaultKind = "squatter"
)

// A Fault is a FaultKind with its details. The zero value is no fault.
type Fault struct {
	Kind      FaultKind
	Transport Transport     // limits the fault to one transport; empty: all that it can apply to
	Times     int           // how often it applies before it clears itself; 0: until cleared
	Delay     time.Duration // for FaultReadyLate and FaultAnswerLate
	Count     int           // for FaultCloseAfter
	Code      int           // for FaultCloseCode, FaultError and FaultHTTPError
	Message   string        // for FaultError and FaultHTTPError
}

// An argument is the syntax of what follows the name of a fault.
type argument string

const (
	noArgument    argument = ""
	delayArgument argument = "=DURATION"
	countArgument argument = "=N"
	closeArgument argument = "=CODE"
	errorArgument argument = "=CODE[:MESSAGE]"
)

func (f *Fault) setArgument(a argument, text string) (err error) {
	switch a {
	case delayArgument:
		f.Delay, err = time.ParseDuration(text)
	case countArgument:
		f.Count, err = strconv.Atoi(text)
	case closeArgument:
		f.Code, err = strconv.Atoi(text)
	case errorArgument:
		code, message, _ := strings.Cut(text, ":")
		f.Code, err = strconv.Atoi(code)
		f.Message = message
	}
	return err
}

func (f Fault) argumentText(a argument) string {
	switch {
	case a == delayArgument:
		return "=" + f.Delay.String()
	case a == countArgument:
		return fmt.Sprintf("=%d", f.Count)
	case a == errorArgument && f.Message != "":
		return fmt.Sprintf("=%d:%s", f.Code, f.Message)
	case a != noArgument:
		return fmt.Sprintf("=%d", f.Code)
	}
	return ""
}

type faultSpec struct {
	kind FaultKind
	arg  argument
	only []Transport // those to which the fault can apply by its nature; nil: all
	help string
}

// sockets are the transports on which READY is sent.
var sockets = []Transport{WebSocket, IPC}

var faultSpecs = []faultSpec{
	{FaultRefuse, noArgument, nil, "new connections are refused"},
	{FaultHang, noArgument, nil, "connections are accepted, nothing is ever said"},
	{FaultCloseAfter, countArgument, nil, "the connection is closed instead of answering every Nth payload"},
	{FaultDie, noArgument, nil, "the connection is reset in the middle of a payload"},
	{FaultReadyLate, delayArgument, sockets, "READY comes late"},
	{FaultReadyNever, noArgument, sockets, "READY never comes"},
	{FaultCloseCode, closeArgument, sockets, "a new WebSocket or IPC connection is closed with the code"},
	{FaultLogin, noArgument, []Transport{IPC}, "a login screen: a new IPC connection is closed with 1000"},
	{FaultOffline, noArgument, nil, "client ids cannot be checked: HTTP 400 and close code 4000"},
	{FaultNoAnswer, noArgument, nil, "payloads are never answered"},
	{FaultAnswerLate, delayArgument, nil, "payloads are answered late"},
	{FaultWrongNonce, noArgument, nil, "answers bear another nonce"},
	{FaultBadJSON, noArgument, nil, "answers are not JSON"},
	{FaultHuge, noArgument, nil, "answers have 10 MiB"},
	{FaultHalf, noArgument, nil, "half an answer comes, then nothing"},
	{FaultDeep, noArgument, nil, "answers are nested 100000 deep"},
	{FaultExtraAnswer, noArgument, sockets, "an answer to a nonce never sent comes before each answer"},
	{FaultTwice, noArgument, sockets, "each answer comes twice"},
	{FaultError, errorArgument, nil, "answers are evt ERROR"},
	{FaultHTTPError, errorArgument, []Transport{HTTP}, "answers are HTTP 400"},
	{FaultSquatter, noArgument, []Transport{WebSocket, HTTP}, "another program owns the port: all is 404, in HTML"},
}

// payloadFaults are those that apply to a payload that has been read.
var payloadFaults = append([]FaultKind{FaultHang, FaultCloseAfter, FaultNoAnswer, FaultError, FaultHTTPError}, acceptingFaults...)

// acceptingFaults are those under which the client still accepts the list.
var acceptingFaults = []FaultKind{
	FaultAnswerLate, FaultWrongNonce, FaultBadJSON, FaultHuge, FaultHalf, FaultDeep, FaultExtraAnswer, FaultTwice,
}

func specOf(kind FaultKind) (spec faultSpec, ok bool) {
	for _, s := range faultSpecs {
		if s.kind == kind {
			return s, true
		}
	}
	return faultSpec{}, false
}

var transports = []Transport{WebSocket, HTTP, IPC}

// appliesTo reports whether the fault can occur on the transport. An empty one is a connection
// whose transport is not known yet.
func (s faultSpec) appliesTo(t Transport) bool {
	return s.only == nil || slices.Contains(s.only, t)
}

func joinTransports(list []Transport, word string) string {
	text := string(list[0])
	for i, t := range list[1:] {
		if i == len(list)-2 {
			text += " " + word + " " + string(t)
		} else {
			text += ", " + string(t)
		}
	}
	return text
}

// check says what is invalid in a fault, so that a test never waits for one that
// cannot happen.
func (f Fault) check() error {
	if f.Kind == FaultNone {
		return nil
	}
	spec, ok := specOf(f.Kind)
	switch {
	case !ok:
		names := append(faultNames(), "none")
		hint := cmp.Or(strictyaml.Suggest(string(f.Kind), names), "want one of "+strings.Join(names, ", "))
		return fmt.Errorf("unknown fault %q, %s", f.Kind, hint)
	case f.Transport != "" && !slices.Contains(transports, f.Transport):
		return fmt.Errorf("fault %s: unknown transport %q, want %s", f.Kind, f.Transport, joinTransports(transports, "or"))
	case f.Transport != "" && !spec.appliesTo(f.Transport):
		return fmt.Errorf("fault %s: only ever meets %s, not %s", f.Kind, joinTransports(spec.only, "and"), f.Transport)
	case f.Times < 0:
		return fmt.Errorf("fault %s: cannot apply %d times", f.Kind, f.Times)
	case f.Kind == FaultRefuse && (f.Times > 0 || f.Transport != "" && f.Transport != IPC):
		return fmt.Errorf("fault %s: a refused connection is never seen: "+
			"neither a number of times nor a transport other than ipc is possible", f.Kind)
	case spec.arg == delayArgument && f.Delay <= 0:
		return fmt.Errorf("fault %s: needs a delay above zero, such as %[1]s=2s", f.Kind)
	case spec.arg == countArgument && f.Count <= 0:
		return fmt.Errorf("fault %s: needs a count above zero, such as %[1]s=3", f.Kind)
	case spec.arg == closeArgument && !validCloseCode(f.Code):
		return fmt.Errorf("fault %s: %d is no close code a server may send, want one such as %[1]s=4001", f.Kind, f.Code)
	case spec.arg == errorArgument && f.Code <= 0:
		return fmt.Errorf("fault %s: needs a code above zero, such as %[1]s=4006:Not authenticated", f.Kind)
	}
	return nil
}

// validCloseCode follows RFC 6455, section 7.4.
func validCloseCode(code int) bool {
	switch {
	case code >= 1004 && code <= 1006:
		return false
	case code >= 1000 && code <= 1014:
		return true
	}
	return code >= 3000 && code <= 4999
}

// ParseFault reads a fault: [N*][websocket/|http/|ipc/]NAME[=ARGUMENT], as in
// "answer-late=2s", "error=4006:Not authenticated" or "3*websocket/no-answer".
// "none" is the zero Fault.
func ParseFault(s string) (Fault, error) {
	head, arg, hasArg := strings.Cut(s, "=")
	var f Fault
	if times, rest, ok := strings.Cut(head, "*"); ok {
		n, err := strconv.Atoi(times)
		if err != nil || n < 1 {
			return f, fmt.Errorf("fault %q: %q is not a number of times", s, times)
		}
		f.Times, head = n, rest
	}
	if transport, rest, ok := strings.Cut(head, "/"); ok {
		f.Transport, head = Transport(transport), rest
	}
	if head == "none" && s == head {
		return f, nil
	}
	f.Kind = FaultKind(head)
	if head == "" {
		return f, fmt.Errorf("fault %q: the name is missing, want one of %s", s, strings.Join(faultNames(), ", "))
	}
	if spec, ok := specOf(f.Kind); ok {
		switch {
		case hasArg == (spec.arg == noArgument):
			return Fault{}, fmt.Errorf("fault %s: write it %[1]s%s", f.Kind, spec.arg)
		case f.setArgument(spec.arg, arg) != nil:
			return Fault{}, fmt.Errorf("fault %s: cannot read %q, write it %[1]s%[3]s", f.Kind, arg, spec.arg)
		}
	}
	return f, f.check()
}

// String is the text that [ParseFault] reads.
func (f Fault) String() string {
	if f.Kind == FaultNone {
		return "none"
	}
	var b strings.Builder
	if f.Times > 0 {
		fmt.Fprintf(&b, "%d*", f.Times)
	}
	if f.Transport != "" {
		b.WriteString(string(f.Transport) + "/")
	}
	spec, _ := specOf(f.Kind)
	return b.String() + string(f.Kind) + f.argumentText(spec.arg)
}

// FaultHelp lists every fault with its argument and effect, one per line.
func FaultHelp() string {
	var b strings.Builder
	for _, s := range faultSpecs {
		fmt.Fprintf(&b, "  %-28s %s\n", string(s.kind)+string(s.arg), s.help)
	}
	return b.String()
}

func faultNames() []string {
	names := make([]string, len(faultSpecs))
	for i, s := range faultSpecs {
		names[i] = string(s.kind)
	}
	return names
}
