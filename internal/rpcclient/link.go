package rpcclient

import (
	"context"
)

// Transport is a way to talk to a client.
type Transport string

// The transports. Auto tries WebSocket, then HTTP (rule R68).
const (
	Auto      Transport = "auto"
	WebSocket Transport = "websocket"
	HTTP      Transport = "http"
)

// order is the list of transports to try, best first. A transport that the client refuses or
// leaves unanswered gives way to the next (rule R48).
func (t Transport) order() []Transport {
	if t == Auto || t == "" {
		return []Transport{WebSocket, HTTP}
	}
	return []Transport{t}
}

// A link is one conversation with one client over one transport. Each transport is one
// implementation; a session does not know which it uses.
type link interface {
	// deliver sends one command and returns nil when the answer with its nonce accepts it
	// (rule R41).
	// After an error other than *Error the link is of no more use.
	deliver(ctx context.Context, nonce string, payload []byte) error
	// lost is closed when the client has gone.
	lost() <-chan struct{}
	// close ends the conversation at once.
	close()
}

// target is where a client listens, and who we say we are.
type target struct {
	addr     string // 127.0.0.1:port
	port     int
	clientID string
	origin   string // "" = none is sent
}

func (t target) query() string { return "v=1&client_id=" + t.clientID }
