package conform

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// socketChecks find out whether there is a WebSocket and whether it accepts commands, with the
// target's origin and without.
func socketChecks(t Target) []check {
	ws := func(id, sentence, want string, p probe) check {
		return quickCheck(InWebSocket, id, sentence, expects(Ran, want), p)
	}
	all := []check{
		ws("no-origin", "connect without Origin", closeWith(4001), openLink(WebSocket, "")).costing(1).specified(ready, openSilent),
		ws("no-origin-command", "then an empty list", closeWith(4001), askSocket("ws-no-origin", "")).
			after("ws-no-origin").specified(success).commanding(),
	}
	if t.Origin != "" {
		all = append(all,
			ws("origin", "connect with the --origin given", ready, openLink(WebSocket, t.Origin)).costing(1).specified(ready, openSilent),
			ws("origin-command", "then an empty list", "ERROR 4006", askSocket("ws-origin", t.Origin)).
				after("ws-origin").specified(success).commanding())
	}
	ownPage := func(o *opening) { o.clientID, o.origin = "", ownOrigin }
	return append(all,
		ws("own-origin", "connect as one of the client's pages", ready, opened(WebSocket, ownPage)).costing(1).asOther(),
		quickCheck(InWebSocket, "ready", "READY names version and hosts", expects(Read, "complete"), afterReady(WebSocket, readyComplete)).
			after("ws-no-origin"),
		fullCheck(InWebSocket, "rate", "three connects at once", expects(Ran, queued), rate(WebSocket, takeOpening(WebSocket))).
			costing(capacity+1))
}

// readyComplete looks for what clients send in READY.
func readyComplete(_ context.Context, r *run) (outcome, error) {
	a := r.readyAnswers[WebSocket]
	var data struct {
		V      int
		Config map[string]json.RawMessage
	}
	complete := json.Unmarshal(a["data"], &data) == nil && data.V == 1 && a.null("nonce")
	for _, key := range []string{"cdn_host", "api_endpoint", "environment"} {
		complete = complete && data.Config[key] != nil
	}
	if !complete {
		return outcome{got: "incomplete", detail: compact(a["data"])}, nil
	}
	return outcome{got: "complete"}, nil
}

// askSocket sends an empty list on the WebSocket that connect has opened. Without READY, the
// outcome of the connect is also that of the command.
func askSocket(connected, origin string) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		if o := r.results[connected]; o.got != ready {
			return outcome{got: o.got}, nil
		}
		r.origin = origin
		return r.ask(ctx, WebSocket, payload{})
	}
}

// badSocketChecks are connections that a client closes or accepts, and one command that it
// loses.
func badSocketChecks(t Target) []check {
	good := closeWith(4001) // the outcome of a connection that is good except for its origin
	if t.Origin != "" {
		good = ready
	}
	connectCheck := func(id, sentence string, basis Basis, want string, change func(*opening)) check {
		return fullCheck(InWebSocket, id, sentence, expects(basis, want), opened(WebSocket, change))
	}
	return []check{
		connectCheck("bad-client-id", "connect, client_id is no number", Read, closeWith(4000),
			func(o *opening) { o.clientID = "conform-websocket" }).asOther(),
		connectCheck("strange-origin", "connect, Origin not registered", Ran, closeWith(4001), func(o *opening) { o.origin = otherOrigin }),
		connectCheck("wrong-v", "connect, v=2", Read, closeWith(4004), func(o *opening) { o.v = 2 }),
		connectCheck("etf", "connect, encoding=etf", Read, closeWith(4005), func(o *opening) { o.encoding = "etf" }),
		connectCheck("no-encoding", "connect, no encoding", Ran, good, func(o *opening) { o.encoding = "" }),
		connectCheck("no-v", "connect, no v", Inferred, closeWith(4004), func(o *opening) { o.v = nil }),
		connectCheck("v-text", "connect, v=abc", Ran, good, func(o *opening) { o.v = "abc" }),
		connectCheck("path", "connect at another path", Ran, good, func(o *opening) { o.path = "/conformance" }),
		connectCheck("empty-origin", "connect, Origin empty", Ran, closeWith(4001), func(o *opening) { o.origin, o.emptyOrigin = "", true }),
		fullCheck(InWebSocket, "early-frame", "command before READY", expects(Ran, lost),
			afterReady(WebSocket, paying(WebSocket, commandBeforeReady))),
		fullCheck(InWebSocket, "early-write", "command in the request's write", expects(Ran, lost),
			afterReady(WebSocket, paying(WebSocket, commandWithUpgrade))),
		fullCheck(InWebSocket, "v-text-ready", "connect, v=abc: version in READY", expects(Ran, "null"),
			afterReady(WebSocket, paying(WebSocket, versionOfReady))),
		fullCheck(InWebSocket, "version-8", "connect, Sec-WebSocket-Version 8", expects(Ran, "101"),
			paying(WebSocket, olderProtocol)),
		fullCheck(InWebSocket, "null", "message null", expects(Ran, overlooked),
			afterReady(WebSocket, paying(WebSocket, nullMessage))),
		fullCheck(InWebSocket, "large", "message of more than 3 MiB", expects(Read, "ERROR 4006"), sendMessage(WebSocket, websocket.TextMessage,
			`{"cmd":"SET_CERTIFIED_DEVICES","nonce":"conform","args":{"devices":[]}}`+strings.Repeat(" ", maxMessage))).lasting(largeTime),
	}
}

// invalidMessageChecks send frames that are not JSON text.
func invalidMessageChecks() []check {
	return []check{
		fullCheck(InWebSocket, "binary", "binary frame", expects(Read, closeWith(1003)), sendMessage(WebSocket, websocket.BinaryMessage, "{}")),
		fullCheck(InWebSocket, "bad-json", "frame that is not JSON", expects(Read, closeWith(1003)),
			sendMessage(WebSocket, websocket.TextMessage, `{"nonce":`)),
		fullCheck(InWebSocket, "not-utf-8", "frame that is not UTF-8", expects(Ran, closeWith(1007)),
			sendMessage(WebSocket, websocket.TextMessage, "\"\xff\"")),
		fullCheck(InWebSocket, "half-code", "close frame of one byte", expects(Ran, closeWith(1002)),
			afterReady(WebSocket, paying(WebSocket, halfCode))),
	}
}

// frameOf is a masked text or close frame. It has at most 64 KiB.
func frameOf(kind byte, text string) []byte {
	const final, masked, size16 = 0x80, 0x80, 126
	head := []byte{final | kind, masked | byte(len(text))}
	if len(text) >= size16 {
		head = binary.BigEndian.AppendUint16([]byte{final | kind, masked | size16}, uint16(len(text)))
	}
	return slices.Concat(head, make([]byte, 4), []byte(text)) // a mask of zeros changes nothing
}

// commandWithUpgrade sends a command in one write with the request, and another one after READY (rule R93).
func commandWithUpgrade(ctx context.Context, r *run, p pass) (outcome, error) {
	first, o := r.compose(payload{}), r.opening(WebSocket)
	o.with = frameOf(websocket.TextMessage, first.text)
	l, got, err := r.dialReady(ctx, o, p)
	if l == nil {
		return got, err
	}
	defer l.close()
	return l.askAfter(ctx, first, r.compose(payload{}), r.opts.Patience)
}

// versionOfReady tells what READY says about a version that is not a number (rule R93).
func versionOfReady(ctx context.Context, r *run, p pass) (outcome, error) {
	o := r.opening(WebSocket)
	o.v = "abc"
	l, got, err := r.dialReady(ctx, o, p)
	if l == nil {
		return got, err
	}
	defer l.close()
	return outcome{got: cmp.Or(compact(l.readyAnswer.object("data")["v"]), "missing")}, nil
}

// olderProtocol opens a WebSocket of an earlier version of the protocol (rule R93).
func olderProtocol(ctx context.Context, r *run, p pass) (outcome, error) {
	t, err := r.rawHTTP(ctx, p.wait)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	u, _ := url.Parse(r.opening(WebSocket).url(r.address)) // it was made by the same package
	t.write(request{method: http.MethodGet, path: u.RequestURI(), keep: true, header: []string{
		"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: Y29uZm9ybWFuY2UgY2hlYw==",
	}}.bytes(r.address))
	answer := t.read(http.MethodGet)
	p.answered(answer.page())
	return answer.page(), ctx.Err()
}

// nullMessage sends null, then a command.
func nullMessage(ctx context.Context, r *run, p pass) (outcome, error) {
	l, got, err := r.open(ctx, r.opening(WebSocket), p)
	if l == nil {
		return got, err
	}
	defer l.close()
	return l.askBehind(ctx, "null", r.compose(payload{}), r.opts.Patience)
}

// halfCode closes a WebSocket with half a code.
func halfCode(ctx context.Context, r *run, p pass) (outcome, error) {
	l, got, err := r.open(ctx, r.opening(WebSocket), p)
	if l == nil {
		return got, err
	}
	defer l.close()
	l.sendBytes(frameOf(websocket.CloseMessage, "x"), r.opts.Patience)
	return l.await(ctx, r.opts.Patience, reaction)
}

// commandBeforeReady sends a command as soon as the WebSocket is open. If READY comes at once,
// nothing can be sent before it.
func commandBeforeReady(ctx context.Context, r *run, p pass) (outcome, error) {
	deadline := time.Now().Add(p.wait)
	l, o, err := r.dialSocket(ctx, r.opening(WebSocket), p.wait)
	if l == nil {
		p.answered(o)
		return o, err
	}
	defer l.close()
	begin, first := time.Now(), r.compose(payload{})
	l.sendCommand(first, time.Until(deadline))
	o, err = l.awaitReady(ctx, time.Until(deadline))
	p.answered(o)
	if err != nil || o.got != ready {
		return o, err
	}
	prompt := time.Since(begin) < transit
	o, err = l.askAfter(ctx, first, r.compose(payload{}), r.opts.Patience)
	switch {
	case err != nil:
		return o, err
	case o.got == taken && prompt:
		return o, notTried("READY comes at once, nothing can be sent before it")
	case o.got == silence:
		return o, notTried("no command is answered, so nothing shows that one was lost")
	}
	return o, nil
}
