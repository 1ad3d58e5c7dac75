package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// An opening is how a connection is begun on which the server says READY: a WebSocket
// with its query, or an IPC connection with its handshake. An empty part is left out.
type opening struct {
	transport Transport
	v         any // version; nil: none
	clientID  string
	now       bool // without waiting for a token

	// Of a WebSocket.
	encoding, origin string
	path             string // "" means /
	emptyOrigin      bool   // an Origin with nothing in it is sent
}

// opening is one that clients take, but maybe for its origin.
func (r *run) opening(t Transport) opening {
	return opening{transport: t, v: 1, clientID: r.target.ClientID, encoding: "json", origin: r.socketOrigin()}
}

// socketOrigin is the origin with which the server says READY, or the target's.
func (r *run) socketOrigin() string {
	if r.results["ws-no-origin"].got == ready {
		return ""
	}
	return r.target.Origin
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

// open opens a connection and waits for READY, at the cost of a token. Without
// READY there is no link, and the outcome says what came instead.
func (r *run) open(ctx context.Context, o opening, p pass) (*link, outcome, error) {
	l, got, hello, err := r.greet(ctx, o, p.wait)
	p.answered(got)
	if err != nil || got.got != ready {
		if l != nil {
			l.close()
		}
		return nil, got, err
	}
	r.hello[o.transport] = hello
	if user := hello.object("data")["user"]; o.transport == IPC && user != nil && string(user) != "null" {
		got.got = readyUser
	}
	return l, got, nil
}

// greet opens a connection and returns it with what came first on it.
func (r *run) greet(ctx context.Context, o opening, wait time.Duration) (*link, outcome, answer, error) {
	if o.transport == IPC {
		return r.shakeHands(ctx, o, wait)
	}
	deadline := time.Now().Add(wait)
	l, got, err := r.dialSocket(ctx, o, wait)
	if l == nil {
		return nil, got, nil, err
	}
	got, hello, err := l.greeting(ctx, time.Until(deadline))
	return l, got, hello, err
}

// tryOpening opens a connection only to see what becomes of it.
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

// opened is the probe that sees what becomes of an opening with a change.
func opened(t Transport, change func(*opening)) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		o := r.opening(t)
		o.origin = r.target.Origin
		change(&o)
		return r.tryOpening(ctx, o)
	}
}

// paying is the probe that gets a pass for the target's client id first.
func paying(t Transport, use func(ctx context.Context, r *run, p pass) (outcome, error)) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		p, err := r.admit(ctx, r.target.ClientID, t, false)
		if err != nil {
			return outcome{}, err
		}
		return use(ctx, r, p)
	}
}

// afterReady is a probe for a server that has said READY on a transport.
func afterReady(t Transport, p probe) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		if r.hello[t] == nil {
			return outcome{}, notTried("no READY")
		}
		return p(ctx, r)
	}
}

// connect is the probe that opens a connection and keeps it for the checks that follow.
func connect(t Transport, origin string) probe {
	return paying(t, func(ctx context.Context, r *run, p pass) (outcome, error) {
		o := r.opening(t)
		o.origin = origin
		l, got, err := r.open(ctx, o, p)
		r.keep(l)
		return got, err
	})
}

// sendMessage is the probe that sends one message on a connection of its own. kind is an opcode of IPC,
// or a type of WebSocket messages.
func sendMessage(t Transport, kind int, message string) probe {
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

// complete reports whether a READY says what clients say in it.
func complete(hello answer) bool {
	var data struct {
		V      int
		Config map[string]json.RawMessage
	}
	if json.Unmarshal(hello["data"], &data) != nil || data.V != 1 || !hello.null("nonce") {
		return false
	}
	for _, key := range []string{"cdn_host", "api_endpoint", "environment"} {
		if data.Config[key] == nil {
			return false
		}
	}
	return true
}
