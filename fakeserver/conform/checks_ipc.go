package conform

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"sidetone/fakeserver/internal/ipcframe"
)

// pipeChecks find out whether there is an IPC server and whether it accepts commands.
func pipeChecks() []check {
	ipc := func(id, sentence, want string, p probe) check {
		return quickCheck(InIPC, id, sentence, expects(Read, want), p)
	}
	askPipe := func(ctx context.Context, r *run) (outcome, error) { return r.ask(ctx, IPC, payload{}) }
	return []check{
		ipc("handshake", "handshake", readyUser, openLink(IPC, "")).costing(1),
		ipc("ping", "PING", pongSame, ping).after("ipc-handshake"),
		ipc("command", "empty list", success, afterReady(IPC, askPipe)).after("ipc-handshake").commanding(),
		fullCheck(InIPC, "rate", "three handshakes at once", expects(Ran, queued), rate(IPC, takeOpening(IPC))).costing(capacity + 1),
	}
}

func ping(ctx context.Context, r *run) (outcome, error) {
	l := r.links[IPC]
	if l == nil {
		return outcome{}, notTried("no READY")
	}
	data := []byte(`{"conform":1}`)
	l.send(ipcframe.Ping, data, r.opts.Patience)
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

// badPipeChecks are connections that a client closes or accepts, and messages at its limits.
func badPipeChecks() []check {
	version := func(id, sentence string, want string, v any) check {
		return fullCheck(InIPC, id, sentence, expects(Ran, want), opened(IPC, func(o *opening) { o.v = v }))
	}
	return []check{
		fullCheck(InIPC, "bad-client-id", "handshake, client_id is no number", expects(Inferred, closeWith(4000)),
			opened(IPC, func(o *opening) { o.clientID = "conform-ipc" })).asOther(),
		fullCheck(InIPC, "client-id-number", "handshake, client_id is a number", expects(Ran, readyUser),
			opened(IPC, func(o *opening) { o.asNumber = true })),
		version("wrong-v", "handshake, v is 2", closeWith(1003), 2).orBuilds(year2024, closeWith(4004)),
		// Versions that the client takes though they are not 1 (rule R79).
		version("no-v", "handshake, no v", readyUser, nil),
		version("v-number-text", `handshake, v is "1"`, readyUser, "1"),
		version("v-text", `handshake, v is "abc"`, readyUser, "abc"),
		version("v-true", "handshake, v is true", readyUser, true),
		fullCheck(InIPC, "early-write", "command in the handshake's write", expects(Ran, lost), paying(IPC, commandWithHandshake)),
		fullCheck(InIPC, "largest", "message of exactly 3 MiB", expects(Ran, success), onLink(largest)).
			after("ipc-command").costing(0).lasting(largeTime),
		fullCheck(InIPC, "pipelined", "200 commands in one write", expects(Ran, inOrder), onLink(pipelined)).
			after("ipc-command").costing(0),
		fullCheck(InIPC, "null", "message null", expects(Ran, overlooked), onLink(func(ctx context.Context, r *run, l *link) (outcome, error) {
			return l.askBehind(ctx, "null", r.compose(payload{}), r.opts.Patience)
		})).after("ipc-command").costing(0),
		fullCheck(InIPC, "close", "CLOSE", expects(Ran, closeWith(1000)), sendMessage(IPC, ipcframe.Close, "{}")),
	}
}

// commandWithHandshake sends handshake and command in one write, and another command after
// READY (rule R16).
func commandWithHandshake(ctx context.Context, r *run, p pass) (outcome, error) {
	l, err := r.dialPipe(ctx, p.wait)
	if err != nil {
		return outcome{}, err
	}
	defer l.close()
	first := r.compose(payload{})
	l.nonces[first.nonce] = true
	shake, ask := ipcframe.Encode(ipcframe.Handshake, handshake(1, r.target.ClientID)), ipcframe.Encode(ipcframe.Frame, []byte(first.text))
	l.sendBytes(slices.Concat(shake, ask), p.wait)
	o, err := l.awaitReady(ctx, p.wait)
	p.answered(o)
	if err != nil || o.got != ready {
		return o, err
	}
	return l.askAfter(ctx, first, r.compose(payload{}), r.opts.Patience)
}

// onLink uses the open connection.
func onLink(use func(context.Context, *run, *link) (outcome, error)) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		l, err := r.link(ctx, IPC)
		if err != nil {
			return outcome{}, err
		}
		return use(ctx, r, l)
	}
}

// largest sends the largest message that a client accepts (rule R47).
func largest(ctx context.Context, r *run, l *link) (outcome, error) {
	c := r.compose(payload{})
	c.text += strings.Repeat(" ", maxMessage-len(c.text))
	return l.ask(ctx, c, r.opts.Patience+largeTime)
}

// pipelined sends many commands in one write (rule R89).
func pipelined(ctx context.Context, r *run, l *link) (outcome, error) {
	const count = 200
	var all []byte
	order := make([]string, count)
	for n := range count {
		c := r.compose(payload{})
		l.nonces[c.nonce], order[n] = true, c.nonce
		all = append(all, ipcframe.Encode(ipcframe.Frame, []byte(c.text))...)
	}
	l.sendBytes(all, r.opts.Patience)
	return l.await(ctx, r.opts.Patience, func(e event) (outcome, bool) {
		a, _ := readAnswer(e.data)
		switch nonce := a.text("nonce"); {
		case e.kind != eventText || a.event() || !slices.Contains(order, nonce):
			return outcome{}, false
		case nonce != order[0]:
			return outcome{got: outOfOrder}, true
		}
		order = order[1:]
		return outcome{got: inOrder}, len(order) == 0
	})
}

// invalidFrameChecks violate the framing or the order of frames.
func invalidFrameChecks() []check {
	closes := expects(Ran, closeWith(1003))
	invalid := func(id, sentence string, parts ...[]byte) check {
		return fullCheck(InIPC, id, sentence, closes, beforeHandshake(func(ctx context.Context, r *run, l *link) (outcome, error) {
			l.sendBytes(slices.Concat(parts...), r.opts.Patience)
			return l.await(ctx, r.opts.Patience, reaction)
		})).costing(0)
	}
	return []check{
		fullCheck(InIPC, "early-frame", "command before the handshake", closes, beforeHandshake(commandWithoutHandshake)).costing(0),
		fullCheck(InIPC, "bad-json", "frame that is not JSON", expects(Inferred, closeWith(1003)), sendMessage(IPC, ipcframe.Frame, `{"nonce":`)),
		fullCheck(InIPC, "large", "message of more than 3 MiB", closes,
			sendMessage(IPC, ipcframe.Frame, `{"pad":"`+strings.Repeat("x", maxMessage)+`"}`)).lasting(largeTime),
		fullCheck(InIPC, "second-handshake", "second handshake", closes, func(ctx context.Context, r *run) (outcome, error) {
			return sendMessage(IPC, ipcframe.Handshake, string(handshake(1, r.target.ClientID)))(ctx, r)
		}),
		invalid("handshake-null", "handshake null", ipcframe.Encode(ipcframe.Handshake, []byte("null"))),
		invalid("opcode", "unknown opcode", ipcframe.Encode(9, []byte("{}"))),
		invalid("negative-size", "frame of negative length", ipcframe.Encode(ipcframe.Frame, nil)[:4], []byte{0xff, 0xff, 0xff, 0xff}),
		invalid("empty-ping", "PING without a body", ipcframe.Encode(ipcframe.Ping, nil)),
	}
}

// beforeHandshake uses a connection without a handshake, which costs no token.
func beforeHandshake(use func(context.Context, *run, *link) (outcome, error)) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		l, err := r.dialPipe(ctx, r.opts.Patience)
		if err != nil {
			return outcome{}, err
		}
		defer l.close()
		return use(ctx, r, l)
	}
}

// commandWithoutHandshake sends a command, then a ping whose answer shows that the server has
// read both.
func commandWithoutHandshake(ctx context.Context, r *run, l *link) (outcome, error) {
	l.sendCommand(r.compose(payload{}), r.opts.Patience)
	l.send(ipcframe.Ping, []byte("{}"), r.opts.Patience)
	return l.await(ctx, r.opts.Patience, func(e event) (outcome, bool) {
		if e.kind == eventPong {
			return outcome{got: lost}, true
		}
		return reaction(e)
	})
}

const (
	// tooManyConnections is one connection more than a client takes (rule R80).
	tooManyConnections = 101
	// pingTime is the pause between two pings.
	pingTime = 3 * time.Second
)

// ipcLimitChecks are about limits of the whole client.
func ipcLimitChecks() []check {
	turnedAway := expects(Ran, closeWith(1006))
	return []check{
		fullCheck(InIPC, "ready-time", "no handshake, a PING every 3 s", turnedAway, beforeHandshake(neverReady)).
			costing(0).lasting(handshakeTime + 2*pingTime),
		fullCheck(InIPC, "crowd", "101 connections", turnedAway, manyConnections).costing(0).orBuilds(february2026, stillOpen),
	}
}

// neverReady sends pings instead of a handshake.
func neverReady(ctx context.Context, _ *run, l *link) (outcome, error) {
	began := time.Now()
	for time.Since(began) < handshakeTime+pingTime {
		l.send(ipcframe.Ping, []byte("{}"), pingTime)
		o, err := l.await(ctx, pingTime, func(event) (outcome, bool) { return outcome{}, false })
		if err != nil || l.dead {
			o.waited = time.Since(began)
			return o, err
		}
	}
	return outcome{got: stillOpen, waited: time.Since(began)}, nil
}

// manyConnections opens more connections than a client accepts. The last one should be refused,
// unless a connection of an earlier check has only just ended.
func manyConnections(ctx context.Context, r *run) (outcome, error) {
	var all []*link
	for range tooManyConnections {
		l, err := r.dialPipe(ctx, r.opts.Patience)
		if err != nil {
			return outcome{}, err
		}
		defer l.close()
		all = append(all, l)
	}
	wait := min(r.opts.Patience, handshakeTime/2)
	for _, l := range slices.Backward(all) {
		if o, err := l.await(ctx, wait, reaction); err != nil || o.got != silence {
			return o, err
		}
		wait = time.Millisecond // by now the others have received what they will
	}
	return outcome{got: stillOpen, waited: wait}, nil
}
