package conform

import (
	"context"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

func (r *run) goodSocket(origin string) socketQuery {
	return socketQuery{v: "1", clientID: r.target.ClientID, encoding: "json", origin: origin}
}

// socketChecks tell whether there is a WebSocket and whether it takes
// commands, with the target's origin and without.
func socketChecks(t Target) []check {
	open := []string{ready, openSilent}
	all := []check{
		{
			id: "ws-no-origin", group: InWebSocket, sentence: "connect without Origin", cost: 1,
			spec: says(Specified, open...), client: says(Ran, closeWith(4001)), probe: connect(""),
		},
		{
			id: "ws-no-origin-command", group: InWebSocket, sentence: "then an empty list", needs: "ws-no-origin", carries: true,
			spec: says(Specified, success), client: says(Ran, closeWith(4001)), probe: askSocket("ws-no-origin", ""),
		},
	}
	if t.Origin != "" {
		all = append(all,
			check{
				id: "ws-origin", group: InWebSocket, sentence: "connect with the --origin given", cost: 1,
				spec: says(Specified, open...), client: says(Ran, ready), probe: connect(t.Origin),
			},
			check{
				id: "ws-origin-command", group: InWebSocket, sentence: "then an empty list", needs: "ws-origin", carries: true,
				spec: says(Specified, success), client: says(Ran, "ERROR 4006"), probe: askSocket("ws-origin", t.Origin),
			})
	}
	return append(all,
		check{
			id: "ws-ready", group: InWebSocket, sentence: "READY names version and hosts", needs: "ws-no-origin",
			client: says(Read, "complete"), probe: func(_ context.Context, r *run) (outcome, error) {
				hello, ok := r.hello[WebSocket]
				switch {
				case !ok:
					return skipped("no READY"), nil
				case complete(hello):
					return outcome{got: "complete"}, nil
				}
				return outcome{got: "incomplete", detail: compact(hello["data"])}, nil
			},
		},
		check{
			id: "ws-rate", group: InWebSocket, sentence: "three connects at once", needs: "ws-no-origin", cost: 3, all: true,
			client: says(Ran, queued), probe: rate(WebSocket, func(ctx context.Context, r *run) (outcome, error) {
				return r.tryWebSocket(ctx, r.goodSocket(r.socketOrigin()), r.acquireNow)
			}),
		})
}

// socketOrigin is the origin with which the server says READY, or the target's.
func (r *run) socketOrigin() string {
	if r.results["ws-no-origin"].got == ready {
		return ""
	}
	return r.target.Origin
}

// connect opens a WebSocket and keeps it for the checks that follow.
func connect(origin string) func(context.Context, *run) (outcome, error) {
	return func(ctx context.Context, r *run) (outcome, error) {
		p, why, err := r.admit(ctx, r.target.ClientID, WebSocket)
		if why != "" || err != nil {
			return skipped(why), err
		}
		l, _, o, err := r.openSocket(ctx, r.goodSocket(origin), p)
		r.keep(l)
		return o, err
	}
}

// askSocket sends an empty list on the WebSocket that connect has opened. What
// came instead of a READY is also what became of the command.
func askSocket(connected, origin string) func(context.Context, *run) (outcome, error) {
	return func(ctx context.Context, r *run) (outcome, error) {
		if o := r.results[connected]; o.got != ready {
			return outcome{got: o.got}, nil
		}
		r.origin = origin
		return r.ask(ctx, WebSocket, payload{})
	}
}

// tryWebSocket opens a WebSocket only to see what becomes of it.
func (r *run) tryWebSocket(ctx context.Context, q socketQuery, admit admission) (outcome, error) {
	p, why, err := admit(ctx, q.clientID, WebSocket)
	if why != "" || err != nil {
		return skipped(why), err
	}
	l, _, o, err := r.openSocket(ctx, q, p)
	if l != nil {
		l.close()
	}
	return o, err
}

// badSocketChecks are connections that a client closes, and one command that it loses.
func badSocketChecks(t Target) []check {
	good := closeWith(4001) // what becomes of a connection that is good but for its origin
	if t.Origin != "" {
		good = ready
	}
	query := func(change func(*socketQuery)) func(context.Context, *run) (outcome, error) {
		return func(ctx context.Context, r *run) (outcome, error) {
			q := r.goodSocket(t.Origin)
			change(&q)
			return r.tryWebSocket(ctx, q, r.admit)
		}
	}
	all := []check{
		badSocket("bad-client-id", "connect, client_id is no number", closeWith(4000),
			query(func(q *socketQuery) { q.clientID = "conform-websocket" })),
		badSocket("strange-origin", "connect, Origin not registered", closeWith(4001), query(func(q *socketQuery) { q.origin = strangerOrigin })),
		badSocket("wrong-v", "connect, v=2", closeWith(4004), query(func(q *socketQuery) { q.v = "2" })),
		badSocket("etf", "connect, encoding=etf", closeWith(4005), query(func(q *socketQuery) { q.encoding = "etf" })),
		badSocket("no-encoding", "connect, no encoding", good, query(func(q *socketQuery) { q.encoding = "" })),
		badSocket("no-v", "connect, no v", closeWith(4004), query(func(q *socketQuery) { q.v = "" })),
		badSocket("v-text", "connect, v=abc", good, query(func(q *socketQuery) { q.v = "abc" })),
		badSocket("path", "connect at another path", good, query(func(q *socketQuery) { q.path = "/conformance" })),
		badSocket("empty-origin", "connect, Origin empty", closeWith(4001), query(func(q *socketQuery) { q.origin, q.emptyOrigin = "", true })),
		badSocket("early-frame", "command before READY", lost, early),
	}
	all[0].all, all[0].stranger = false, true
	for i := range all {
		switch all[i].id {
		case "ws-no-encoding", "ws-v-text", "ws-path", "ws-empty-origin", "ws-strange-origin", "ws-early-frame":
			all[i].client.basis = Ran
		case "ws-no-v":
			all[i].client.basis = Inferred
		}
	}
	return all
}

// roughSocketChecks break the rules of the transport.
func roughSocketChecks() []check {
	return []check{
		badSocket("binary", "binary frame", closeWith(1003), sendFrame(websocket.BinaryMessage, "{}")),
		badSocket("bad-json", "frame that is not JSON", closeWith(1003), sendFrame(websocket.TextMessage, `{"nonce":`)),
	}
}

func badSocket(id, sentence, want string, probe func(context.Context, *run) (outcome, error)) check {
	return check{
		id: "ws-" + id, group: InWebSocket, sentence: sentence, needs: "ws-no-origin", cost: 1, all: true,
		client: says(Read, want), probe: probe,
	}
}

// sendFrame sends one frame on a WebSocket of its own.
func sendFrame(kind int, text string) func(context.Context, *run) (outcome, error) {
	return func(ctx context.Context, r *run) (outcome, error) {
		if _, ok := r.hello[WebSocket]; !ok {
			return skipped("no READY"), nil
		}
		p, why, err := r.admit(ctx, r.target.ClientID, WebSocket)
		if why != "" || err != nil {
			return skipped(why), err
		}
		l, ws, o, err := r.openSocket(ctx, r.goodSocket(r.socketOrigin()), p)
		if l == nil {
			return o, err
		}
		defer l.close()
		_ = ws.SetWriteDeadline(time.Now().Add(r.opts.Patience))
		_ = ws.WriteMessage(kind, []byte(text)) // a failure shows when reading
		return l.await(ctx, r.opts.Patience, reaction)
	}
}

// reaction takes any answer for what it is.
func reaction(e event) (outcome, bool) {
	a, ok := readAnswer(e.data)
	switch {
	case e.kind == eventPong:
		return outcome{got: pong}, true
	case !ok || e.kind != eventText:
		return outcome{got: "answer is not JSON", detail: compact(e.data)}, true
	case a.text("evt") == "ERROR":
		return a.judge("", ""), true
	}
	return outcome{got: "answered", detail: compact(e.data)}, !a.event()
}

// early sends a command as soon as the WebSocket is open. Where READY is there
// at once nothing can be sent before it.
func early(ctx context.Context, r *run) (outcome, error) {
	if _, ok := r.hello[WebSocket]; !ok {
		return skipped("no READY"), nil
	}
	p, why, err := r.admit(ctx, r.target.ClientID, WebSocket)
	if why != "" || err != nil {
		return skipped(why), err
	}
	deadline := time.Now().Add(p.wait)
	l, _, o, err := r.dialSocket(ctx, r.goodSocket(r.socketOrigin()), p.wait)
	if l == nil {
		p.heard(o)
		return o, err
	}
	defer l.close()
	opened, c := time.Now(), r.compose(payload{})
	l.nonces[c.nonce] = true
	_ = l.write([]byte(c.text), deadline)
	o, _, err = l.greeting(ctx, time.Until(deadline))
	p.heard(o)
	if err != nil || o.got != ready {
		return o, err
	}
	prompt := time.Since(opened) < flight
	second := r.compose(payload{})
	o, err = l.askAfter(ctx, c, second, r.opts.Patience)
	switch {
	case o.got == taken && prompt:
		return skipped("READY comes at once, nothing can be sent before it"), err
	case o.got == silence:
		return skipped("no command is answered, so nothing shows that one was lost"), err
	}
	return o, err
}

// askAfter sends a second command and tells which of the two is answered.
func (l *link) askAfter(ctx context.Context, first, second command, wait time.Duration) (outcome, error) {
	_ = l.write([]byte(second.text), time.Now().Add(wait)) // a failure shows when reading
	return l.await(ctx, wait, func(e event) (outcome, bool) {
		a, _ := readAnswer(e.data)
		switch nonce := a.text("nonce"); {
		case e.kind != eventText || strings.TrimSpace(nonce) == "":
			return outcome{}, false
		case nonce == first.nonce:
			return outcome{got: taken}, true
		case nonce == second.nonce:
			return outcome{got: lost}, true
		}
		return outcome{}, false
	})
}
