package fakeserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A FaultKind is a way to misbehave. Its text is the name [ParseFault] knows.
type FaultKind string

// The faults. Unless said otherwise a fault meets both transports, the
// connections that exist as well as new ones, and a payload it meets is
// recorded but does not become the device list.
const (
	// FaultNone is no fault: the client behaves.
	FaultNone FaultKind = ""
	// FaultRefuse closes the listener: new connections are refused, existing
	// ones go on. The port is opened again when the fault is cleared.
	FaultRefuse FaultKind = "refuse"
	// FaultHang accepts connections and never says a word on them.
	FaultHang FaultKind = "hang"
	// FaultCloseAfter closes the connection instead of answering every Nth
	// payload (Count, counted over all connections since the fault was set).
	FaultCloseAfter FaultKind = "close-after"
	// FaultDie resets the connection when part of a payload has been read: half
	// of an HTTP body, the first bytes of a WebSocket message. Nothing is recorded.
	FaultDie FaultKind = "die"
	// FaultReadyLate sends a WebSocket's READY only after Delay; frames that
	// come before it are lost.
	FaultReadyLate FaultKind = "ready-late"
	// FaultReadyNever never sends READY on a new WebSocket.
	FaultReadyNever FaultKind = "ready-never"
	// FaultCloseCode closes a new WebSocket with close code Code before READY.
	FaultCloseCode FaultKind = "close-code"
	// FaultNoAnswer reads payloads and never answers them.
	FaultNoAnswer FaultKind = "no-answer"
	// FaultAnswerLate takes the payload at once and answers after Delay.
	FaultAnswerLate FaultKind = "answer-late"
	// FaultWrongNonce takes the payload and answers with another nonce.
	FaultWrongNonce FaultKind = "wrong-nonce"
	// FaultBadJSON takes the payload and answers something that is not JSON.
	FaultBadJSON FaultKind = "bad-json"
	// FaultError answers evt ERROR with Code and Message.
	FaultError FaultKind = "error"
	// FaultHTTPError answers HTTP status 400 with Code and Message.
	FaultHTTPError FaultKind = "http-error"
	// FaultSquatter is another program on the port: every request, a WebSocket's
	// too, is answered by a 404 HTML page.
	FaultSquatter FaultKind = "squatter"
)

// A Fault is one way to misbehave with its details. The zero value is none.
type Fault struct {
	Kind      FaultKind
	Transport Transport     // limits the fault to one transport; empty: both
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
	only Transport // the one transport the fault can meet by its nature
	help string
}

var faultSpecs = []faultSpec{
	{FaultRefuse, argNone, "", "new connections are refused"},
	{FaultHang, argNone, "", "connections are accepted, nothing is ever said"},
	{FaultCloseAfter, argCount, "", "the connection is closed instead of answering every Nth payload"},
	{FaultDie, argNone, "", "the connection is reset in the middle of a payload"},
	{FaultReadyLate, argDelay, WebSocket, "READY comes late"},
	{FaultReadyNever, argNone, WebSocket, "READY never comes"},
	{FaultCloseCode, argClose, WebSocket, "a new WebSocket is closed with the code"},
	{FaultNoAnswer, argNone, "", "payloads are never answered"},
	{FaultAnswerLate, argDelay, "", "payloads are answered late"},
	{FaultWrongNonce, argNone, "", "answers bear another nonce"},
	{FaultBadJSON, argNone, "", "answers are not JSON"},
	{FaultError, argError, "", "answers are evt ERROR"},
	{FaultHTTPError, argError, HTTP, "answers are HTTP 400"},
	{FaultSquatter, argNone, "", "another program owns the port: all is 404, in HTML"},
}

// payloadFaults are those that meet a payload when it has been read.
var payloadFaults = []FaultKind{
	FaultHang, FaultCloseAfter, FaultNoAnswer, FaultAnswerLate, FaultWrongNonce, FaultBadJSON, FaultError, FaultHTTPError,
}

func specOf(kind FaultKind) (faultSpec, bool) {
	i := slices.IndexFunc(faultSpecs, func(s faultSpec) bool { return s.kind == kind })
	if i < 0 {
		return faultSpec{}, false
	}
	return faultSpecs[i], true
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
	case f.Transport != "" && f.Transport != WebSocket && f.Transport != HTTP:
		return fmt.Errorf("fault %s: unknown transport %q, want websocket or http", f.Kind, f.Transport)
	case spec.only != "" && f.Transport != "" && f.Transport != spec.only:
		return fmt.Errorf("fault %s: only ever meets %s, not %s", f.Kind, spec.only, f.Transport)
	case f.Times < 0:
		return fmt.Errorf("fault %s: cannot apply %d times", f.Kind, f.Times)
	case f.Kind == FaultRefuse && (f.Times > 0 || f.Transport != ""):
		return fmt.Errorf("fault %s: a refused connection is never seen: neither a transport nor a number of times is possible", f.Kind)
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

// ParseFault reads a fault as text: [N*][websocket/|http/]NAME[=ARGUMENT], as in
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
		return distance(name, a) - distance(name, b)
	})
}

// distance is the number of bytes to insert, remove or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
