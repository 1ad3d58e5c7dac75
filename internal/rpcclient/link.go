package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// A link is one conversation with one client over one transport. A session does not know which it uses.
type link interface {
	// deliver sends one command and returns nil when the answer with its nonce accepts it
	// (rule R41). After an error other than *Error, errNoAnswer and errBroken the link is of no
	// more use.
	deliver(ctx context.Context, nonce string, payload []byte) error
	// await goes on waiting for the answer that deliver gave up with errNoAnswer.
	await(ctx context.Context) error
	// lost is closed when the client has gone.
	lost() <-chan struct{}
	// cause is why; only after lost is closed.
	cause() error
	// close ends the conversation at once.
	close()
}

// writeTimeout bounds one write: a loopback peer that does not read for so long hangs.
const writeTimeout = 5 * time.Second

// finalWriteTimeout bounds a write for which there is no time left: on loopback that is plenty.
const finalWriteTimeout = 100 * time.Millisecond

// streamLink is a link over a connection on which messages come at any time, IPC or WebSocket. One
// goroutine reads; deliver writes, and so does the reader, to answer a ping.
type streamLink struct {
	inbox
	conn      net.Conn
	next      func() (message, error)    // reads one message
	send      func(payload []byte) error // writes one, which may be cut short by a deadline of conn
	sendClose func()                     // says that the connection ends; nil: nobody wants to hear it

	writing sync.Mutex
}

// start reads what comes after READY.
func (l *streamLink) start() {
	l.inbox = newInbox()
	go l.read()
}

// read passes answers on until the connection ends.
func (l *streamLink) read() {
	for {
		m, err := l.next()
		if err != nil { // whoever writes meanwhile hears of it from the inbox: conn stays open until close
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

// write lets f write. When ctx ends it is cut short, but not at once: half a message would make the
// connection useless for the empty list that may have to follow.
func (l *streamLink) write(ctx context.Context, f func() error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetWriteDeadline(time.Now().Add(finalWriteTimeout)) })
	defer stop()
	if err := f(); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	_ = l.conn.SetWriteDeadline(time.Time{}) // else its timer would wake us for nothing
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

// awaitReady reads messages of a fresh connection until READY (rules R16, R17), or ctx's end.
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

// asNoAnswer turns an error that is only ctx's deadline into errNoAnswer.
func asNoAnswer(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), errNoAnswer) {
		return errNoAnswer
	}
	return err
}

// target is a port on which a client may listen.
type target struct {
	*Options  // those in force when it was found
	port      int
	sameOwner func() bool // reports whether the port still has the owner it was found with
}

func (t target) addr() string { return loopback(t.port) }

func (t target) connect(ctx context.Context) (net.Conn, error) { return t.DialPort(ctx, t.port) }

func (t target) query() string { return "v=1&client_id=" + t.ClientID }
