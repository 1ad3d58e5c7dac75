package conform

import (
	"bytes"
	"context"
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
				return r.shake(ctx, 1, r.target.ClientID, r.rush)
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

// shake does a handshake only to see what becomes of it.
func (r *run) shake(ctx context.Context, v int, clientID string, admit admission) (outcome, error) {
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
				return r.shake(ctx, 1, "conform-ipc", r.admit)
			},
		},
		{
			id: "ipc-wrong-v", group: InIPC, sentence: "handshake, v is 2", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Ran, closeWith(1003)), probe: func(ctx context.Context, r *run) (outcome, error) {
				return r.shake(ctx, 2, r.target.ClientID, r.admit)
			},
		},
		{
			id: "ipc-close", group: InIPC, sentence: "CLOSE", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Ran, closeWith(1000)), probe: throwFrame(opClose, "{}"),
		},
	}
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
			id: "ipc-large", group: InIPC, sentence: "message of more than 3 MiB", needs: "ipc-handshake", cost: 1, all: true,
			client: says(Ran, closeWith(1003)), probe: throwFrame(opFrame, `{"pad":"`+strings.Repeat("x", 3<<20)+`"}`),
		},
	}
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
		_ = c.send(op, []byte(text), time.Now().Add(r.opts.Patience)) // a failure shows when reading
		return l.await(ctx, r.opts.Patience, reaction)
	}
}
