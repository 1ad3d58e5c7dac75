package conform

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"
)

// pipeChecks tell whether there is an IPC server and whether it takes commands.
func pipeChecks() []check {
	return []check{
		{
			id: "ipc-handshake", group: InIPC, sentence: "handshake", cost: 1,
			client: says(Read, readyUser), probe: func(ctx context.Context, r *run) (outcome, error) {
				p, why, err := r.admit(ctx, r.target.ClientID, IPC)
				if why != "" || err != nil {
					return skipped(why), err
				}
				l, c, o, err := r.openPipe(ctx, 1, r.target.ClientID, p)
				r.pipe = c
				r.keep(l)
				return o, err
			},
		},
		{id: "ipc-ping", group: InIPC, sentence: "PING", needs: "ipc-handshake", client: says(Read, pongSame), probe: ping},
		{
			id: "ipc-command", group: InIPC, sentence: "empty list", needs: "ipc-handshake", carries: true,
			client: says(Read, success), probe: func(ctx context.Context, r *run) (outcome, error) {
				if r.hello[IPC] == nil {
					return skipped("no READY"), nil
				}
				return r.ask(ctx, IPC, payload{})
			},
		},
		{
			id: "ipc-rate", group: InIPC, sentence: "three handshakes at once", needs: "ipc-handshake", cost: 3, all: true,
			client: says(Ran, queued), probe: rate(IPC, func(ctx context.Context, r *run) (outcome, error) {
				return r.tryHandshake(ctx, 1, r.target.ClientID, r.acquireNow)
			}),
		},
	}
}

// ping sends a PING; the answer bears the same data.
func ping(ctx context.Context, r *run) (outcome, error) {
	l := r.links[IPC]
	if l == nil {
		return skipped("no READY"), nil
	}
	data := []byte(`{"conform":1}`)
	_ = r.pipe.send(opPing, data, time.Now().Add(r.opts.Patience)) // a failure shows when reading
	return l.await(ctx, r.opts.Patience, func(e event) (outcome, bool) {
		switch {
		case e.kind != eventPong:
			return outcome{got: "another kind of frame"}, e.kind != eventText
		case !bytes.Equal(e.data, data):
			return outcome{got: "PONG, other data", detail: compact(e.data)}, true
		}
		return outcome{got: pongSame}, true
	})
}

// tryHandshake does a handshake only to see what becomes of it.
func (r *run) tryHandshake(ctx context.Context, v any, clientID string, admit admission) (outcome, error) {
	p, why, err := admit(ctx, clientID, IPC)
	if why != "" || err != nil {
		return skipped(why), err
	}
	l, _, o, err := r.openPipe(ctx, v, clientID, p)
	if l != nil {
		l.close()
	}
	return o, err
}

// badPipeChecks are connections that a client closes.
func badPipeChecks() []check {
	return []check{
		{
			id: "ipc-bad-client-id", group: InIPC, sentence: "handshake, client_id is no number", needs: "ipc-handshake", cost: 1, stranger: true,
			client: says(Inferred, closeWith(4000)), probe: func(ctx context.Context, r *run) (outcome, error) {
				return r.tryHandshake(ctx, 1, "conform-ipc", r.admit)
			},
		},
		{
			id: "ipc-wrong-v", group: InIPC, sentence: "handshake, v is 2", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Ran, closeWith(1003)), probe: version(2),
		},
		goodVersion("no-v", "handshake, no v", nil),
		goodVersion("v-number-text", `handshake, v is "1"`, "1"),
		goodVersion("v-text", `handshake, v is "abc"`, "abc"),
		goodVersion("v-true", "handshake, v is true", true),
		{
			id: "ipc-early-write", group: InIPC, sentence: "command in the handshake's write", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Ran, lost), probe: earlyWrite,
		},
		{
			id: "ipc-largest", group: InIPC, sentence: "message of exactly 3 MiB", needs: "ipc-command", all: true, lasts: largeTime,
			client: says(Ran, success), probe: largest,
		},
		{
			id: "ipc-pipelined", group: InIPC, sentence: "200 commands in one write", needs: "ipc-command", all: true,
			client: says(Ran, inOrder), probe: pipelined,
		},
		{
			id: "ipc-close", group: InIPC, sentence: "CLOSE", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Ran, closeWith(1000)), probe: throwFrame(opClose, "{}"),
		},
	}
}

func version(v any) func(context.Context, *run) (outcome, error) {
	return func(ctx context.Context, r *run) (outcome, error) {
		return r.tryHandshake(ctx, v, r.target.ClientID, r.admit)
	}
}

// goodVersion is a version that the client takes though it is not 1 (rule R79).
func goodVersion(id, sentence string, v any) check {
	return check{
		id: "ipc-" + id, group: InIPC, sentence: sentence, needs: "ipc-handshake", cost: 1, all: true,
		client: says(Ran, readyUser), probe: version(v),
	}
}

// earlyWrite sends handshake and command at once, and another command after READY (rule R16).
func earlyWrite(ctx context.Context, r *run) (outcome, error) {
	p, why, err := r.admit(ctx, r.target.ClientID, IPC)
	if why != "" || err != nil {
		return skipped(why), err
	}
	l, c, err := r.dialPipe(ctx, p.wait)
	if err != nil {
		return outcome{}, err
	}
	defer l.close()
	first, second := r.compose(payload{}), r.compose(payload{})
	l.nonces[first.nonce], l.nonces[second.nonce] = true, true
	_ = c.SetWriteDeadline(time.Now().Add(p.wait))
	_, _ = c.Write(append(frame(opHandshake, handshake(1, r.target.ClientID)), frame(opFrame, []byte(first.text))...))
	o, _, err := l.greeting(ctx, p.wait)
	p.heard(o)
	if err != nil || o.got != ready {
		return o, err
	}
	return l.askAfter(ctx, first, second, r.opts.Patience)
}

// largest sends the largest message that a client takes (rule R47).
func largest(ctx context.Context, r *run) (outcome, error) {
	l, o, err := r.link(ctx, IPC)
	if l == nil {
		return o, err
	}
	c := r.compose(payload{})
	c.text += strings.Repeat(" ", maxMessage-len(c.text))
	return l.ask(ctx, c, r.opts.Patience+largeTime)
}

// pipelined sends many commands in one write (rule R89).
func pipelined(ctx context.Context, r *run) (outcome, error) {
	l, o, err := r.link(ctx, IPC)
	if l == nil {
		return o, err
	}
	const count = 200
	var all []byte
	order := make([]string, count)
	for n := range count {
		c := r.compose(payload{})
		l.nonces[c.nonce], order[n] = true, c.nonce
		all = append(all, frame(opFrame, []byte(c.text))...)
	}
	_ = r.pipe.SetWriteDeadline(time.Now().Add(r.opts.Patience))
	_, _ = r.pipe.Write(all) // a failure shows when reading
	return l.await(ctx, r.opts.Patience, func(e event) (outcome, bool) {
		a, _ := readAnswer(e.data)
		switch nonce := a.text("nonce"); {
		case e.kind != eventText || a.event() || !slices.Contains(order, nonce):
			return outcome{}, false
		case nonce != order[0]:
			return outcome{got: disorder}, true
		}
		order = order[1:]
		return outcome{got: inOrder}, len(order) == 0
	})
}

// roughPipeChecks break the rules of the transport.
func roughPipeChecks() []check {
	return []check{
		{
			id: "ipc-early-frame", group: InIPC, sentence: "command before the handshake", needs: "ipc-handshake", all: true,
			client: says(Ran, lost), probe: earlyFrame,
		},
		{
			id: "ipc-bad-json", group: InIPC, sentence: "frame that is not JSON", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Inferred, closeWith(1003)), probe: throwFrame(opFrame, `{"nonce":`),
		},
		{
			id: "ipc-large", group: InIPC, sentence: "message of more than 3 MiB", needs: "ipc-handshake", cost: 1, all: true, lasts: largeTime,
			client: says(Ran, closeWith(1003)), probe: throwFrame(opFrame, `{"pad":"`+strings.Repeat("x", maxMessage)+`"}`),
		},
		{
			id: "ipc-second-handshake", group: InIPC, sentence: "second handshake", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Ran, closeWith(1003)), probe: func(ctx context.Context, r *run) (outcome, error) {
				return throwFrame(opHandshake, string(handshake(1, r.target.ClientID)))(ctx, r)
			},
		},
		rough("opcode", "unknown opcode", frame(9, []byte("{}"))),
		rough("negative-size", "frame of negative length", frame(opFrame, nil)[:4], []byte{0xff, 0xff, 0xff, 0xff}),
		rough("empty-ping", "PING without a body", frame(opPing, nil)),
	}
}

// rough sends a frame that a client takes for the end, on a connection without a handshake.
func rough(id, sentence string, parts ...[]byte) check {
	return check{
		id: "ipc-" + id, group: InIPC, sentence: sentence, needs: "ipc-handshake", all: true,
		client: says(Ran, closeWith(1003)), probe: func(ctx context.Context, r *run) (outcome, error) {
			l, c, err := r.dialPipe(ctx, r.opts.Patience)
			if err != nil {
				return outcome{}, err
			}
			defer l.close()
			_ = c.SetWriteDeadline(time.Now().Add(r.opts.Patience))
			_, _ = c.Write(slices.Concat(parts...)) // a failure shows when reading
			return l.await(ctx, r.opts.Patience, reaction)
		},
	}
}

// crowd is one connection more than a client takes (rule R80).
const crowd = 101

// crowdChecks are about limits of the client as a whole.
func crowdChecks() []check {
	return []check{
		{
			id: "ipc-ready-time", group: InIPC, sentence: "no handshake, a PING every 3 s", needs: "ipc-handshake", all: true,
			lasts: readyTime + 2*pingTime, client: says(Ran, closeWith(1006)), probe: neverReady,
		},
		{
			id: "ipc-crowd", group: InIPC, sentence: "101 connections", needs: "ipc-handshake", all: true,
			client: says(Ran, closeWith(1006)), probe: crowded,
		},
	}
}

// pingTime is the pause between two pings.
const pingTime = 3 * time.Second

// neverReady pings instead of shaking hands.
func neverReady(ctx context.Context, r *run) (outcome, error) {
	began := time.Now()
	l, c, err := r.dialPipe(ctx, r.opts.Patience)
	if err != nil {
		return outcome{}, err
	}
	defer l.close()
	o := outcome{}
	for time.Since(began) < readyTime+pingTime {
		_ = c.send(opPing, []byte("{}"), time.Now().Add(pingTime)) // a failure shows when reading
		o, err = l.await(ctx, pingTime, func(event) (outcome, bool) { return outcome{}, false })
		if err != nil || l.dead {
			o.waited = time.Since(began)
			return o, err
		}
	}
	return outcome{got: stillOpen, waited: time.Since(began)}, nil
}

// crowded opens many connections, and looks at what becomes of the last.
func crowded(ctx context.Context, r *run) (outcome, error) {
	var last *link
	for range crowd {
		l, _, err := r.dialPipe(ctx, r.opts.Patience)
		if err != nil {
			return outcome{}, err
		}
		defer l.close()
		last = l
	}
	o, err := last.await(ctx, min(r.opts.Patience, readyTime/2), reaction)
	if o.got == silence {
		o.got = stillOpen
	}
	return o, err
}

// earlyFrame sends a command on a connection without a handshake, and a ping that
// shows that the server has seen it.
func earlyFrame(ctx context.Context, r *run) (outcome, error) {
	l, c, err := r.dialPipe(ctx, r.opts.Patience)
	if err != nil {
		return outcome{}, err
	}
	defer l.close()
	deadline := time.Now().Add(r.opts.Patience)
	_ = c.send(opFrame, []byte(r.compose(payload{}).text), deadline) // a failure shows when reading
	_ = c.send(opPing, []byte("{}"), deadline)
	return l.await(ctx, r.opts.Patience, func(e event) (outcome, bool) {
		if e.kind == eventPong {
			return outcome{got: lost}, true
		}
		return reaction(e)
	})
}

// throwFrame sends one frame on a connection of its own.
func throwFrame(op int, text string) func(context.Context, *run) (outcome, error) {
	return func(ctx context.Context, r *run) (outcome, error) {
		if r.hello[IPC] == nil {
			return skipped("no READY"), nil
		}
		p, why, err := r.admit(ctx, r.target.ClientID, IPC)
		if why != "" || err != nil {
			return skipped(why), err
		}
		l, c, o, err := r.openPipe(ctx, 1, r.target.ClientID, p)
		if l == nil {
			return o, err
		}
		defer l.close()
		wait := r.opts.Patience
		if len(text) >= maxMessage {
			wait += largeTime
		}
		_ = c.send(op, []byte(text), time.Now().Add(wait)) // a failure shows when reading
		return l.await(ctx, wait, reaction)
	}
}
