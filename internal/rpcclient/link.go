package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// A link is a connection to one client over any transport.
type link interface {
	// deliver sends one command, and returns nil when the answer with its nonce accepts it
	// (rule R41). After an error other than *refusalError, errNoAnswer and errBroken, the link cannot
	// be used any more.
	deliver(ctx context.Context, nonce string, payload []byte) error
	// await continues to wait for the answer after deliver has returned errNoAnswer.
	await(ctx context.Context) error
	// lost returns a channel that is closed when the client has gone.
	lost() <-chan struct{}
	// cause returns why. It must be called only after lost is closed.
	cause() error
	// close ends the conversation at once.
	close()
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

func (l *streamLink) deliver(ctx context.Context, nonce string, payload []byte) error {
	l.want(nonce)
	if err := l.write(ctx, func() error { return l.send(payload) }); err != nil {
		return fmt.Errorf("send device list: %w", err)
	}
	return l.await(ctx)
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
		return fmt.Errorf("%w: %w", errLost, err)
	}
	_ = l.conn.SetWriteDeadline(time.Time{}) // otherwise its timer would wake the process for nothing
	return nil
}

// close ends the connection and waits for the reader.
func (l *streamLink) close() {
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

// asNoAnswer returns errNoAnswer if err is merely due to ctx's deadline, and err otherwise.
func asNoAnswer(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), errNoAnswer) {
		return errNoAnswer
	}
	return err
}

// target is a port on which a client may listen, and the options for talking to it.
type target struct {
	*Options  // those in force when the target was made
	port      int
	sameOwner func() bool // reports whether the port still has the owner it was found with
}

func (t target) addr() string { return loopback(t.port) }

func (t target) connect(ctx context.Context) (net.Conn, error) { return t.DialPort(ctx, t.port) }

func (t target) query() string { return "v=1&client_id=" + t.ClientID }
