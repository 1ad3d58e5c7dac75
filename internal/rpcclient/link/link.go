// Package link is one conversation with one client over IPC, WebSocket or HTTP. The numbered rules in comments are those of
// docs/protocol.md.
package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// A Link is a connection to one client over any transport. At most one command is in flight.
type Link interface {
	// Deliver sends one command, and returns nil when the answer with its nonce accepts it (rule R41). After an error other than
	// *Refusal, ErrNoAnswer and ErrBroken, the link cannot be used any more.
	Deliver(ctx context.Context, nonce string, payload []byte) error
	// Await continues to wait for the answer after Deliver has returned ErrNoAnswer.
	Await(ctx context.Context) error
	// Lost returns a channel that is closed when the client has gone.
	Lost() <-chan struct{}
	// Cause returns why. It must be called only after Lost is closed.
	Cause() error
	// Close ends the conversation at once.
	Close()
}

// writeTimeout bounds one write: a peer on this machine that does not read for so long hangs.
const writeTimeout = 5 * time.Second

// finalWriteTimeout bounds a write after its context has ended. On one machine that is plenty.
const finalWriteTimeout = 100 * time.Millisecond

// streamLink is a link over a connection on which messages arrive at any time: IPC or WebSocket. One
// goroutine reads. deliver writes, and so does the reader to answer a ping.
type streamLink struct {
	inbox
	conn      net.Conn
	next      func() (message, error)    // reads one message
	send      func(payload []byte) error // writes one message; a deadline of conn may cut it short
	sendClose func()                     // announces the end of the connection; nil: the transport has no such message

	writing sync.Mutex
}

// start reads what comes after READY.
func (l *streamLink) start() {
	l.inbox = inbox{answer: make(chan message, 1), gone: make(chan struct{})}
	go l.read()
}

// read passes answers on until the connection ends.
func (l *streamLink) read() {
	for {
		m, err := l.next()
		if err != nil { // conn stays open until close, so a writer learns of the end from the inbox
			l.end(afterReady(err))
			return
		}
		l.put(m)
	}
}

func (l *streamLink) Deliver(ctx context.Context, nonce string, payload []byte) error {
	l.want(nonce)
	if err := l.write(ctx, func() error { return l.send(payload) }); err != nil {
		return fmt.Errorf("send device list: %w", err)
	}
	return l.Await(ctx)
}

// write calls f, which writes to conn. When ctx ends, the write is cut short, but not at once: half a message
// would make the connection useless for the farewell that may have to follow.
func (l *streamLink) write(ctx context.Context, f func() error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetWriteDeadline(time.Now().Add(finalWriteTimeout)) })
	defer stop()
	if err := f(); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	_ = l.conn.SetWriteDeadline(time.Time{}) // otherwise its timer would wake the process for nothing
	return nil
}

// close ends the connection and waits for the reader.
func (l *streamLink) Close() {
	if l.sendClose != nil {
		l.sendClose()
	}
	_ = l.conn.Close()
	<-l.gone
}

// awaitReady reads messages from a fresh connection until READY (rules R16, R17) or the end of ctx.
func awaitReady(ctx context.Context, conn net.Conn, next func() (message, error)) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		m, err := next()
		if ctx.Err() != nil || err == nil && m.ready() && !stop() { // the deadline may fall between the message and here
			err = asNoAnswer(ctx, ctx.Err())
		}
		switch {
		case err != nil:
			return fmt.Errorf("wait for READY: %w", err)
		case m.ready():
			return nil
		}
	}
}

// asNoAnswer returns ErrNoAnswer if err is merely due to ctx's deadline, and err otherwise.
func asNoAnswer(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), ErrNoAnswer) {
		return ErrNoAnswer
	}
	return err
}

// Target is a port of this machine on which a client may listen, and how to talk to that.
type Target struct {
	Port      int
	ClientID  string // of the application
	Origin    string // sent on WebSocket only; "" = none (rules R19, R24)
	Dial      func(ctx context.Context, port int) (net.Conn, error)
	SameOwner func() (same, known bool) // reports whether the port still has the owner it was found with; same but not known: it may
	Jitter    func() float64            // of a Backoff
}

// Addr returns host and port.
func (t Target) Addr() string { return Loopback(t.Port) }

func (t Target) connect(ctx context.Context) (net.Conn, error) { return t.Dial(ctx, t.Port) }

func (t Target) query() string { return "v=1&client_id=" + t.ClientID }

// Loopback returns the address of a port of this machine.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
