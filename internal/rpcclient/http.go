package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// redialInterval is how long a connection that served nothing must have lived to be replaced at once
// when it ends. One that ended earlier is replaced after growing pauses, so that a server that closes
// idle connections does not make us spin.
const redialInterval = 5 * time.Second

// redialTimeout bounds one attempt to reach a server that has closed an idle connection.
const redialTimeout = time.Second

// httpLink is a link over HTTP POST. It writes its requests itself: each must leave in one
// write with exactly the headers that the client accepts. Between requests it keeps a
// connection open, because nothing else tells that the client has gone (rule R28).
type httpLink struct {
	target target
	counts bool                        // each request costs a token
	prove  func(context.Context) error // has the server prove itself again; nil while nothing secret is sent
	gone   chan struct{}               // closed once the client cannot be reached any more

	lifetime    context.Context // ends with close, and when the client has gone
	endLifetime context.CancelFunc
	wg          sync.WaitGroup

	mu     sync.Mutex
	conn   *httpConn // nil: the next deliver dials
	redial *backoff
}

// openHTTP connects. The caller vouches that the server is a client, or sends nothing secret.
func openHTTP(ctx context.Context, t target, prove func(context.Context) error, counts bool) (*httpLink, error) {
	l := &httpLink{target: t, counts: counts, prove: prove, gone: make(chan struct{}), redial: t.backoff(retryFirst, redialInterval)}
	l.lifetime, l.endLifetime = context.WithCancel(context.Background())
	if _, err := l.dial(ctx); err != nil {
		l.endLifetime()
		return nil, fmt.Errorf("http to %s: %w", t.addr(), asNoAnswer(ctx, err))
	}
	return l, nil
}

// dial makes a new connection and takes it into use. Whose the port is counts once it is connected
// to: before, another program could still take it over.
func (l *httpLink) dial(ctx context.Context) (*httpConn, error) {
	conn, err := l.target.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	if !l.target.sameOwner() {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: the port has another owner now", errLost)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.useConn(conn, true)
}

// useConn puts conn in the place of the connection before. l.mu is held.
func (l *httpLink) useConn(conn net.Conn, proven bool) (*httpConn, error) {
	if l.lifetime.Err() != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: this link is closed", errLost)
	}
	if l.conn != nil {
		_ = l.conn.Close()
	}
	c := &httpConn{Conn: conn, opened: time.Now(), proven: proven, replies: make(chan httpReply, 1), done: make(chan struct{})}
	l.conn = c
	l.wg.Go(func() {
		c.read()
		l.replaceConn(c)
	})
	return c, nil
}

func (l *httpLink) deliver(ctx context.Context, nonce string, payload []byte) error {
	reply, err := l.post(ctx, payload)
	if err != nil {
		return fmt.Errorf("POST device list to %s: %w", l.target.addr(), asNoAnswer(ctx, err))
	}
	return postResult(reply, nonce)
}

// errBroken means that a kept connection broke with a request on it, as when the server closes
// it at the same moment. The link is still of use.
var errBroken = fmt.Errorf("%w with the request", errLost)

// post sends one request. One on a kept connection that breaks is sent once more on a new one,
// unless that could cost a second token: then whoever counts them has to send it again.
func (l *httpLink) post(ctx context.Context, payload []byte) (httpReply, error) {
	c, kept, err := l.connection(ctx)
	if err != nil {
		return httpReply{}, err
	}
	reply, err := l.exchange(ctx, c, payload)
	if err == nil || !kept || ctx.Err() != nil || !errors.Is(err, errLost) {
		return reply, err
	}
	if l.counts {
		return reply, fmt.Errorf("%w: %w", errBroken, err)
	}
	if c, _, err = l.connection(ctx); err != nil {
		return httpReply{}, err
	}
	return l.exchange(ctx, c, payload)
}

// exchange sends one request on c and waits for its reply. After a failure c is let go of: a
// late reply must not be taken for the next one's.
func (l *httpLink) exchange(ctx context.Context, c *httpConn, payload []byte) (httpReply, error) {
	reply, err := c.exchange(ctx, postRequest(l.target, payload))
	if err != nil {
		l.mu.Lock()
		if l.conn == c {
			l.conn = nil
		}
		l.mu.Unlock()
		_ = c.Close()
	}
	return reply, err
}

// connection returns the kept connection, or a new one. Since the old one ended the port may
// have got another owner, so the server has to prove itself again, unless the old one served
// and ended only now: then its server has merely closed it, as the answer may have said.
func (l *httpLink) connection(ctx context.Context) (c *httpConn, kept bool, err error) {
	l.mu.Lock()
	c = l.conn
	l.mu.Unlock()
	proven := c != nil && c.proven
	if c != nil {
		select {
		case <-c.done:
			proven = proven && c.served
		default:
			if proven {
				return c, true, nil
			}
		}
	}
	if !proven && l.prove != nil {
		if err := l.prove(ctx); err != nil {
			return nil, false, fmt.Errorf("%w: the port may have another owner: %w", errLost, err)
		}
	}
	c, err = l.dial(ctx)
	return c, false, err
}

// await keeps a connection open, which tells when the client goes: the request that got no
// answer is given up, a late one is not told from silence.
func (l *httpLink) await(ctx context.Context) error {
	if _, err := l.dial(ctx); err != nil {
		return err
	}
	select {
	case <-l.gone:
		return l.cause()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *httpLink) lost() <-chan struct{} { return l.gone }

func (l *httpLink) cause() error { return errLost }

func (l *httpLink) close() {
	l.mu.Lock()
	l.endLifetime()
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}
