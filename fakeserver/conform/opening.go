package conform

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"
)

// An opening says how to open a connection on which the server sends READY: a WebSocket by its
// query, or an IPC connection by its handshake. An empty part is left out.
type opening struct {
	transport Transport
	v         any // version; nil: none
	clientID  string
	now       bool // without waiting for a token
	asNumber  bool // of an IPC connection: clientID is not sent as text

	// Of a WebSocket.
	encoding, origin string
	path             string // "" means /
	emptyOrigin      bool   // send an empty Origin
	with             []byte // sent in one write with the request
}

// opening is one that clients accept. To those that accept no origin of the target it is a page of their own (rule R24).
func (r *run) opening(t Transport) opening {
	o := r.openingOfTarget(t)
	if t == WebSocket && r.results["ws-own-origin"].got == ready && r.results["ws-no-origin"].got != ready && o.origin == "" {
		o.origin, o.clientID = ownOrigin, ""
	}
	return o
}

// openingOfTarget is one that clients accept, except perhaps for its origin.
func (r *run) openingOfTarget(t Transport) opening {
	o := opening{transport: t, v: 1, clientID: r.target.ClientID, encoding: "json", origin: r.target.Origin}
	if r.results["ws-no-origin"].got == ready {
		o.origin = ""
	}
	return o
}

// url is the address of a WebSocket.
func (o opening) url(address string) string {
	query := url.Values{}
	for key, value := range map[string]any{"v": o.v, "client_id": o.clientID, "encoding": o.encoding} {
		if value != nil && value != "" {
			query.Set(key, fmt.Sprint(value))
		}
	}
	return "ws://" + address + cmp.Or(o.path, "/") + "?" + query.Encode()
}

// open opens a connection as a peer does, see dialReady, and keeps what READY says.
func (r *run) open(ctx context.Context, o opening, p pass) (*link, outcome, error) {
	l, got, err := r.dialReady(ctx, o, p)
	if l == nil {
		return nil, got, err
	}
	r.readyAnswers[o.transport] = l.readyAnswer
	if user := l.readyAnswer.object("data")["user"]; o.transport == IPC && user != nil && string(user) != "null" {
		got.got = readyUser
	}
	return l, got, nil
}

// dialReady opens a connection and waits for READY, at the cost of a token. Without READY it returns no link, and the outcome says what
// came instead.
func (r *run) dialReady(ctx context.Context, o opening, p pass) (*link, outcome, error) {
	l, got, err := r.dialOpening(ctx, o, p.wait)
	p.answered(got)
	if l != nil && (err != nil || got.got != ready) {
		l.close()
		l = nil
	}
	return l, got, err
}

// dialOpening opens a connection and returns it with what came first on it.
func (r *run) dialOpening(ctx context.Context, o opening, wait time.Duration) (*link, outcome, error) {
	if o.transport == IPC {
		return r.openPipe(ctx, o, wait)
	}
	deadline := time.Now().Add(wait)
	l, got, err := r.dialSocket(ctx, o, wait)
	if l == nil {
		return nil, got, err
	}
	got, err = l.awaitReady(ctx, time.Until(deadline))
	return l, got, err
}

// tryOpening opens a connection only to see whether READY comes.
func (r *run) tryOpening(ctx context.Context, o opening) (outcome, error) {
	p, err := r.admit(ctx, o.clientID, o.transport, o.now)
	if err != nil {
		return outcome{}, err
	}
	l, got, err := r.open(ctx, o, p)
	if l != nil {
		l.close()
	}
	return got, err
}

// opened tries an opening with a change.
func opened(t Transport, change func(*opening)) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		o := r.openingOfTarget(t)
		o.origin = r.target.Origin
		change(&o)
		return r.tryOpening(ctx, o)
	}
}

// paying gets a pass for the target's client id first.
func paying(t Transport, use func(ctx context.Context, r *run, p pass) (outcome, error)) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		p, err := r.admit(ctx, r.target.ClientID, t, false)
		if err != nil {
			return outcome{}, err
		}
		return use(ctx, r, p)
	}
}

// afterReady needs a server that has sent READY on a transport.
func afterReady(t Transport, p probe) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		if r.readyAnswers[t] == nil {
			return outcome{}, notTried("no READY")
		}
		return p(ctx, r)
	}
}

// openLink opens a connection and keeps it for later checks.
func openLink(t Transport, origin string) probe {
	return paying(t, func(ctx context.Context, r *run, p pass) (outcome, error) {
		o := r.openingOfTarget(t)
		o.origin = origin
		l, got, err := r.open(ctx, o, p)
		r.keep(l)
		return got, err
	})
}

// sendMessage sends one message on its own connection. kind is an IPC opcode or a WebSocket
// message type.
func sendMessage(t Transport, kind uint32, message string) probe {
	return afterReady(t, paying(t, func(ctx context.Context, r *run, p pass) (outcome, error) {
		l, got, err := r.open(ctx, r.opening(t), p)
		if l == nil {
			return got, err
		}
		defer l.close()
		wait := r.opts.Patience
		if len(message) >= maxMessage {
			wait += largeTime
		}
		l.send(kind, []byte(message), wait)
		return l.await(ctx, wait, reaction)
	}))
}
