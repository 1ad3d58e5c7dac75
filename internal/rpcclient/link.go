package rpcclient

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Transport is a way to talk to a client.
type Transport string

// The transports (rules R7, R15, R23).
const (
	IPC       Transport = "ipc"
	WebSocket Transport = "websocket"
	HTTP      Transport = "http"
)

// DefaultTransports are all of them, best first: only the first reports in real time to the
// client that users run (rule R68). One that the client refuses gives way to the next.
var DefaultTransports = []Transport{IPC, WebSocket, HTTP}

// A link is one conversation with one client over one transport. Each transport is one
// implementation; a session does not know which it uses.
type link interface {
	// deliver sends one command and returns nil when the answer with its nonce accepts it
	// (rule R41). After an error other than *Error, ErrNoAnswer and errBroken the link is of no
	// more use.
	deliver(ctx context.Context, nonce string, payload []byte) error
	// await goes on waiting for the answer that deliver gave up with ErrNoAnswer.
	await(ctx context.Context) error
	// lost is closed when the client has gone.
	lost() <-chan struct{}
	// cause is why; only after lost is closed.
	cause() error
	// close ends the conversation at once.
	close()
}

// awaitReady reads messages of a fresh connection until READY (rules R16, R17), or ctx's end.
func awaitReady(ctx context.Context, conn net.Conn, next func() (message, error)) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		m, err := next()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("wait for READY: %w", timeoutAs(ctx, ctx.Err()))
		case err != nil:
			return fmt.Errorf("wait for READY: %w", err)
		case m.ready():
			if !stop() { // the deadline fell between the message and here
				return fmt.Errorf("wait for READY: %w", timeoutAs(ctx, ctx.Err()))
			}
			return nil
		}
	}
}

// target is a port on which a client may listen, and who we say we are.
type target struct {
	addr     string // 127.0.0.1:port
	port     int
	dial     func(ctx context.Context, port int) (net.Conn, error) // nil is that of this machine
	clientID string
	origin   string         // "" = none is sent
	chance   func() float64 // of Options; nil: by chance
	same     func() bool    // reports whether the port still has the owner it was found with; nil is unknown
}

func (t target) sameOwner() bool { return t.same == nil || t.same() }

func (t target) connect(ctx context.Context) (net.Conn, error) {
	if t.dial == nil {
		return dialTCP(ctx, t.addr)
	}
	return t.dial(ctx, t.port)
}

func (t target) query() string { return "v=1&client_id=" + t.clientID }
