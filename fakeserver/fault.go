package fakeserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/strictyaml"
)

// A FaultKind is a way to misbehave. Its text is the name [ParseFault] knows.
type FaultKind string

// The faults. Unless said otherwise a fault meets all transports, the
// connections that exist as well as new ones, and a payload it meets is
// recorded but does not become the device list.
const (
	// FaultNone is no fault: the client behaves.
	FaultNone FaultKind = ""
	// FaultRefuse closes the port and the IPC socket, or the latter alone when
	// it is limited to IPC: new connections are refused, existing ones go on.
	// What was closed is opened again when the fault is cleared.
	FaultRefuse FaultKind = "refuse"
	// FaultHang accepts connections and never says a word on them.
	FaultHang FaultKind = "hang"
	// FaultCloseAfter closes the connection instead of answering every Nth
	// payload (Count, counted over all connections since the fault was set).
	FaultCloseAfter FaultKind = "close-after"
	// FaultDie resets the connection when part of a payload has been read: half
	// of an HTTP body, the first bytes of a WebSocket or IPC message. Nothing is
	// recorded.
	FaultDie FaultKind = "die"
	// FaultReadyLate sends READY, on a new WebSocket or IPC connection, only
	// after Delay; frames that come before it are lost.
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
	// closes a new WebSocket or IPC connection with 4000. [Desktop] still lets in
	// whom it has let in before, but over no WebSocket.
	FaultOffline FaultKind = "offline"
	// FaultNoAnswer reads payloads and never answers them.
	FaultNoAnswer FaultKind = "no-answer"
	// FaultAnswerLate takes the payload at once and answers after Delay.
	FaultAnswerLate FaultKind = "answer-late"
	// FaultWrongNonce takes the payload and answers with another nonce.
	FaultWrongNonce FaultKind = "wrong-nonce"
	// FaultBadJSON takes the payload and answers something that is not JSON.
	FaultBadJSON FaultKind = "bad-json"
	// FaultHuge takes the payload and answers with 10 MiB.
	FaultHuge FaultKind = "huge"
	// FaultHalf takes the payload, sends half of its answer and never a word more.
	FaultHalf FaultKind = "half"
	// FaultDeep takes the payload and answers with JSON that is nested 100000 deep.
	FaultDeep FaultKind = "deep"
	// FaultExtraAnswer takes the payload and, over WebSocket and IPC, sends a good
	// answer to a nonce that was never sent before the real answer.
	FaultExtraAnswer FaultKind = "extra-answer"
	// FaultTwice takes the payload and answers it twice, over WebSocket and IPC.
	FaultTwice FaultKind = "twice"
	// FaultError answers evt ERROR with Code and Message.
	FaultError FaultKind = "error"
	// FaultHTTPError answers HTTP status 400 with Code and Message.
	FaultHTTPError FaultKind = "http-error"
	// FaultSquatter is another program on the port: every request, a WebSocket's
	// too, is answered by a 404 HTML page. IPC goes on.
	FaultSquatter FaultKind = "squatter"
)

// A Fault is one way to misbehave with its details. The zero value is none.
type Fault struct {
	Kind      FaultKind
	Transport Transport     // limits the fault to one transport; empty: all it can meet
	Times     int           // how often it applies before it clears itself; 0: until cleared
	Delay     time.Duration // for FaultReadyLate and FaultAnswerLate
	Count     int           // for FaultCloseAfter
	Code      int           // for FaultCloseCode, FaultError and FaultHTTPError
	Message   string        // for FaultError and FaultHTTPError
}

type argument int

const (
	argNone argument = iota
	argDelay
	argCount
	argClose
	argError
)

// syntax is how each kind of argument is written after the name.
var syntax = map[argument]string{argDelay: "=DURATION", argCount: "=N", argClose: "=CODE", argError: "=CODE[:MESSAGE]"}

type faultSpec struct {
	kind FaultKind
	arg  argument
	only []Transport // those the fault can meet by its nature; nil: all
	help string
}

// sockets are the transports that say READY and know messages.
var sockets = []Transport{WebSocket, IPC}

var faultSpecs = []faultSpec{
	{FaultRefuse, argNone, nil, "new connections are refused"},
	{FaultHang, argNone, nil, "connections are accepted, nothing is ever said"},
	{FaultCloseAfter, argCount, nil, "the connection is closed instead of answering every Nth payload"},
	{FaultDie, argNone, nil, "the connection is reset in the middle of a payload"},
	{FaultReadyLate, argDelay, sockets, "READY comes late"},
	{FaultReadyNever, argNone, sockets, "READY never comes"},
	{FaultCloseCode, argClose, sockets, "a new WebSocket or IPC connection is closed with the code"},
	{FaultLogin, argNone, []Transport{IPC}, "a login screen: a new IPC connection is closed with 1000"},
	{FaultOffline, argNone, nil, "client ids cannot be checked: HTTP 400 and close code 4000"},
	{FaultNoAnswer, argNone, nil, "payloads are never answered"},
	{FaultAnswerLate, argDelay, nil, "payloads are answered late"},
	{FaultWrongNonce, argNone, nil, "answers bear another nonce"},
	{FaultBadJSON, argNone, nil, "answers are not JSON"},
	{FaultHuge, argNone, nil, "answers have 10 MiB"},
	{FaultHalf, argNone, nil, "half an answer comes, then nothing"},
	{FaultDeep, argNone, nil, "answers are nested 100000 deep"},
	{FaultExtraAnswer, argNone, sockets, "an answer to a nonce never sent comes before each answer"},
	{FaultTwice, argNone, sockets, "each answer comes twice"},
	{FaultError, argError, nil, "answers are evt ERROR"},
	{FaultHTTPError, argError, []Transport{HTTP}, "answers are HTTP 400"},
	{FaultSquatter, argNone, []Transport{WebSocket, HTTP}, "another program owns the port: all is 404, in HTML"},
}

// payloadFaults are those that meet a payload when it has been read.
var payloadFaults = []FaultKind{
	FaultHang, FaultCloseAfter, FaultNoAnswer, FaultAnswerLate, FaultWrongNonce, FaultBadJSON, FaultHuge, FaultHalf,
	FaultDeep, FaultExtraAnswer, FaultTwice, FaultError, FaultHTTPError,
}

// takenFaults are those under which the client still takes the list.
var takenFaults = []FaultKind{
	FaultAnswerLate, FaultWrongNonce, FaultBadJSON, FaultHuge, FaultHalf, FaultDeep, FaultExtraAnswer, FaultTwice,
}

func specOf(kind FaultKind) (faultSpec, bool) {
	i := slices.IndexFunc(faultSpecs, func(s faultSpec) bool { return s.kind == kind })
	if i < 0 {
		return faultSpec{}, false
	}
	return faultSpecs[i], true
}

var transports = []Transport{WebSocket, HTTP, IPC}

// meets reports whether the fault can meet the transport. An empty one is a
// connection of which nothing is known yet.
func (s faultSpec) meets(t Transport) bool {
	return s.only == nil || slices.Contains(s.only, t)
}

// joinTransports is the transports as a sentence has them: "a, b or c".
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

// check says what makes no sense in a fault, so that a test never waits for
// one that cannot happen.
func (f Fault) check() error {
	if f.Kind == FaultNone {
		return nil
	}
	spec, ok := specOf(f.Kind)
	switch {
	case !ok:
		return fmt.Errorf("unknown fault %q, did you mean %q?", f.Kind, nearestFault(string(f.Kind)))
	case f.Transport != "" && !slices.Contains(transports, f.Transport):
		return fmt.Errorf("fault %s: unknown transport %q, want %s", f.Kind, f.Transport, joinTransports(transports, "or"))
	case f.Transport != "" && !spec.meets(f.Transport):
		return fmt.Errorf("fault %s: only ever meets %s, not %s", f.Kind, joinTransports(spec.only, "and"), f.Transport)
	case f.Times < 0:
		return fmt.Errorf("fault %s: cannot apply %d times", f.Kind, f.Times)
	case f.Kind == FaultRefuse && (f.Times > 0 || f.Transport != "" && f.Transport != IPC):
		return fmt.Errorf("fault %s: a refused connection is never seen: "+
			"neither a number of times nor a transport other than ipc is possible", f.Kind)
	}
	return f.checkArgument(spec.arg)
}

func (f Fault) checkArgument(arg argument) error {
	switch {
	case arg == argDelay && f.Delay <= 0:
		return fmt.Errorf("fault %s: needs a delay above zero, such as %s=2s", f.Kind, f.Kind)
	case arg == argCount && f.Count <= 0:
		return fmt.Errorf("fault %s: needs a count above zero, such as %s=3", f.Kind, f.Kind)
	case arg == argClose && !validCloseCode(f.Code):
		return fmt.Errorf("fault %s: %d is no close code a server may send, want one such as %s=4001", f.Kind, f.Code, f.Kind)
	case arg == argError && f.Code <= 0:
		return fmt.Errorf("fault %s: needs a code above zero, such as %s=4006:Not authenticated", f.Kind, f.Kind)
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

// ParseFault reads a fault as text: [N*][websocket/|http/|ipc/]NAME[=ARGUMENT], as in
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
		if err := f.parseArgument(spec.arg, arg, hasArg); err != nil {
			return Fault{}, err
		}
	}
	return f, f.check()
}

func (f *Fault) parseArgument(kind argument, arg string, given bool) (err error) {
	if given == (kind == argNone) {
		return fmt.Errorf("fault %s: write it %s%s", f.Kind, f.Kind, syntax[kind])
	}
	switch kind {
	case argDelay:
		f.Delay, err = time.ParseDuration(arg)
	case argCount:
		f.Count, err = strconv.Atoi(arg)
	case argClose:
		f.Code, err = strconv.Atoi(arg)
	case argError:
		code, message, _ := strings.Cut(arg, ":")
		f.Code, err = strconv.Atoi(code)
		f.Message = message
	}
	if err != nil {
		return fmt.Errorf("fault %s: cannot read %q, write it %s%s", f.Kind, arg, f.Kind, syntax[kind])
	}
	return nil
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
	b.WriteString(string(f.Kind))
	switch spec, _ := specOf(f.Kind); spec.arg {
	case argDelay:
		fmt.Fprintf(&b, "=%s", f.Delay)
	case argCount:
		fmt.Fprintf(&b, "=%d", f.Count)
	case argClose:
		fmt.Fprintf(&b, "=%d", f.Code)
	case argError:
		fmt.Fprintf(&b, "=%d", f.Code)
		if f.Message != "" {
			b.WriteString(":" + f.Message)
		}
	}
	return b.String()
}

// FaultHelp lists every fault with its argument and effect, one a line.
func FaultHelp() string {
	var b strings.Builder
	for _, s := range faultSpecs {
		fmt.Fprintf(&b, "  %-28s %s\n", string(s.kind)+syntax[s.arg], s.help)
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

func nearestFault(name string) string {
	return slices.MinFunc(append(faultNames(), "none"), func(a, b string) int {
		return strictyaml.EditDistance(name, a) - strictyaml.EditDistance(name, b)
	})
}
