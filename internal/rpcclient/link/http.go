package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// redialInterval is the age at which a connection that served no request is replaced at once when it
// ends. Younger ones are replaced after growing pauses, so that a server that closes idle connections
// does not make us spin.
const (
	redialFirst    = 250 * time.Millisecond
	redialInterval = 5 * time.Second
)

// redialTimeout bounds one attempt to reach a server that has closed an idle connection.
const redialTimeout = time.Second

// httpLink is a link over HTTP POST. It writes its requests itself: each must leave in one
// write with exactly the headers that the client accepts. Between requests it keeps a
// connection open, because nothing else shows that the client has gone (rule R28).
type httpLink struct {
	target Target
	counts bool                        // each request costs a token
	prove  func(context.Context) error // makes the server prove itself again; nil while nothing secret is sent

	lifetime    context.Context // ends with close, and when the client cannot be reached any more
	endLifetime context.CancelFunc
	wg          sync.WaitGroup

	mu     sync.Mutex
	conn   *httpConn // nil: the next deliver dials
	redial *Backoff
}

// OpenHTTP connects. The caller has made sure that the server is a client, and prove does so again when a connection is replaced. counts
// says that each request costs a token.
func OpenHTTP(ctx context.Context, t Target, prove func(context.Context) error, counts bool) (Link, error) {
	l, err := openHTTP(ctx, t, prove, counts)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func openHTTP(ctx context.Context, t Target, prove func(context.Context) error, counts bool) (*httpLink, error) {
	l := &httpLink{target: t, counts: counts, prove: prove, redial: NewBackoff(redialFirst, redialInterval, t.Jitter)}
	l.lifetime, l.endLifetime = context.WithCancel(context.Background())
	if _, err := l.dial(ctx, true); err != nil {
		l.endLifetime()
		return nil, fmt.Errorf("http to %s: %w", t.Addr(), asNoAnswer(ctx, err))
	}
	return l, nil
}

// connect makes a new connection. It looks up the owner of the port afterwards: before, another program
// could still take the port over. known: it certainly is the one it was found with.
func (l *httpLink) connect(ctx context.Context) (conn net.Conn, known bool, err error) {
	conn, err = l.target.connect(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrLost, err)
	}
	same, known := l.target.SameOwner()
	if !same {
		_ = conn.Close()
		return nil, false, fmt.Errorf("%w: the port has another owner now", ErrLost)
	}
	return conn, known, nil
}

// dial makes a new connection the one in use. proven: the server has just proved to be a client.
func (l *httpLink) dial(ctx context.Context, proven bool) (*httpConn, error) {
	conn, known, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.useConn(conn, proven || known)
}

// useConn replaces the connection in use with conn. l.mu is held.
func (l *httpLink) useConn(conn net.Conn, proven bool) (*httpConn, error) {
	if l.lifetime.Err() != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: this link is closed", ErrLost)
	}
	if l.conn != nil {
		_ = l.conn.Close()
	}
	c := &httpConn{Conn: conn, opened: time.Now(), proven: proven, replies: make(chan httpReply, 1)}
	l.conn = c
	l.wg.Go(func() {
		c.read()
		l.replaceConn(c)
	})
	return c, nil
}

func (l *httpLink) Deliver(ctx context.Context, nonce string, payload []byte) error {
	reply, err := l.post(ctx, payload)
	if err != nil {
		return fmt.Errorf("POST device list to %s: %w", l.target.Addr(), asNoAnswer(ctx, err))
	}
	return postResult(reply, nonce)
}

// post sends one request. If a kept connection breaks during the request, it is sent once more on a new
// connection, unless that could cost a second token: then the session, which counts tokens, has to send
// it again.
func (l *httpLink) post(ctx context.Context, payload []byte) (httpReply, error) {
	for again := true; ; again = false {
		c, kept, err := l.connection(ctx)
		if err != nil {
			return httpReply{}, err
		}
		reply, err := c.exchange(ctx, postRequest(l.target, payload))
		if err == nil {
			return reply, nil
		}
		l.drop(c)
		switch {
		case !again || !kept || ctx.Err() != nil || !errors.Is(err, ErrLost):
			return httpReply{}, err
		case l.counts:
			return httpReply{}, fmt.Errorf("%w: %w", ErrBroken, err)
		}
	}
}

// drop stops using c after a failed request: a late reply must not be taken for that to the next one.
func (l *httpLink) drop(c *httpConn) {
	l.mu.Lock()
	if l.conn == c {
		l.conn = nil
	}
	l.mu.Unlock()
	_ = c.Close()
}

// connection returns the kept connection, or a new one. The port may have another owner since the old connection ended, so the server has
// to prove itself again, unless the owner is known to be the same and the old one had served a request: then its server has merely closed
// it, as the reply may have announced.
func (l *httpLink) connection(ctx context.Context) (c *httpConn, kept bool, err error) {
	l.mu.Lock()
	c = l.conn
	l.mu.Unlock()
	proven := c != nil && c.proven
	if c != nil {
		select {
		case <-c.replies: // closed: nothing was asked for
			_, known := l.target.SameOwner()
			proven = proven && c.served && known
		default:
			if proven {
				return c, true, nil
			}
		}
	}
	if !proven && l.prove != nil {
		if err := l.prove(ctx); err != nil {
			return nil, false, fmt.Errorf("%w: the port may have another owner: %w", ErrLost, err)
		}
	}
	c, err = l.dial(ctx, true)
	return c, false, err
}

// await keeps a connection open to notice when the client goes. The request without an answer was given
// up, so a late answer is not seen.
func (l *httpLink) Await(ctx context.Context) error {
	if _, err := l.dial(ctx, false); err != nil {
		return err
	}
	select {
	case <-l.Lost():
		return l.Cause()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *httpLink) Lost() <-chan struct{} { return l.lifetime.Done() }

func (l *httpLink) Cause() error { return ErrLost }

func (l *httpLink) Close() {
	l.mu.Lock()
	l.endLifetime()
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}
