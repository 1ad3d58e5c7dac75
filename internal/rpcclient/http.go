package rpcclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// redialInterval is how long a connection that served nothing must have lived for its end to
// be answered with a new one at once. Before that, growing pauses keep a server that closes
// idle connections from making us spin.
const redialInterval = 5 * time.Second

// redialTimeout bounds one attempt to reach a server that has closed an idle connection.
const redialTimeout = time.Second

// httpLink is a link over HTTP POST. It writes its requests itself: each must leave in one
// write with exactly the headers that the client accepts. Between requests it keeps a
// connection open, because nothing else tells that the client has gone (rule R28).
type httpLink struct {
	target target
	proofs []Transport   // how the server proves itself again; nil while nothing secret was sent
	gone   chan struct{} // closed once the client cannot be reached any more

	life context.Context // ends with close, and when the client has gone
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	conn   *httpConn // nil: the next deliver dials
	redial *backoff
}

// httpConn is one connection. Its goroutine reads replies until the end.
type httpConn struct {
	net.Conn
	opened  time.Time
	proven  bool        // leads to a server that has proved to be a client
	asked   atomic.Bool // a request is without its reply
	served  bool        // has given a reply; owned by the reader until done
	replies chan httpReply
	done    chan struct{}
	err     error // why it ended, set before done is closed
}

type httpReply struct {
	status int
	body   []byte
}

// openHTTP connects. The caller vouches that the server is a client, or sends nothing secret.
func openHTTP(ctx context.Context, t target, proofs []Transport) (*httpLink, error) {
	l := &httpLink{target: t, proofs: proofs, gone: make(chan struct{}), redial: newBackoff(retryFirst, redialInterval)}
	l.life, l.end = context.WithCancel(context.Background())
	if _, err := l.dial(ctx); err != nil {
		l.end()
		return nil, fmt.Errorf("http to %s: %w", t.addr, timeoutAs(ctx, err))
	}
	return l, nil
}

// dial makes a new connection and takes it into use.
func (l *httpLink) dial(ctx context.Context) (*httpConn, error) {
	conn, err := dialTCP(ctx, "tcp4", l.target.addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.use(conn, true)
}

// use puts conn in the place of the connection before. l.mu is held.
func (l *httpLink) use(conn net.Conn, proven bool) (*httpConn, error) {
	if l.life.Err() != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: this link is closed", ErrLost)
	}
	if l.conn != nil {
		_ = l.conn.Close()
	}
	c := &httpConn{Conn: conn, opened: time.Now(), proven: proven, replies: make(chan httpReply, 1), done: make(chan struct{})}
	l.conn = c
	l.wg.Go(func() {
		c.read()
		l.ended(c)
	})
	return c, nil
}

func (c *httpConn) read() {
	defer close(c.done)
	defer c.Close()
	limit := &io.LimitedReader{R: c.Conn}
	r := bufio.NewReader(limit)
	for {
		limit.N = maxAnswer
		reply, last, err := readReply(r)
		switch {
		case err != nil && limit.N <= 0:
			c.err = fmt.Errorf("%w: a reply of more than %d bytes", ErrNotRPC, maxAnswer)
		case err != nil:
			c.err = err
		case !c.asked.Swap(false):
			c.err = fmt.Errorf("%w: the server sent HTTP %d without being asked", ErrLost, reply.status)
		case reply.status == http.StatusRequestTimeout: // how servers end a connection that was idle for long
			c.err = fmt.Errorf("%w: the server tired of waiting", ErrLost)
		default:
			c.served = true
			c.replies <- reply
			if last {
				c.err = fmt.Errorf("%w: closed by the server after its reply", ErrLost)
			}
		}
		if c.err != nil {
			return
		}
	}
}

// readReply reads one reply; last says that the server closes the connection after it. The
// length of the reply is for r to limit.
func readReply(r *bufio.Reader) (reply httpReply, last bool, err error) {
	if _, err := r.Peek(1); err != nil {
		return httpReply{}, false, fmt.Errorf("%w: %w", ErrLost, err)
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return httpReply{}, false, fmt.Errorf("%w: %w", ErrNotRPC, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return httpReply{}, false, fmt.Errorf("%w: %w", ErrLost, err)
	}
	return httpReply{resp.StatusCode, body}, resp.Close, nil
}

// ended follows the end of a connection. A server may close one merely because it is idle;
// only when it cannot be reached again has the client gone.
func (l *httpLink) ended(c *httpConn) {
	pause := l.pause(c)
	sleep(l.life, pause)
	if !l.holds(c) {
		return
	}
	ctx, cancel := context.WithTimeout(l.life, redialTimeout)
	defer cancel()
	conn, err := dialTCP(ctx, "tcp4", l.target.addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.conn != c: // deliver was faster
		if err == nil {
			_ = conn.Close()
		}
	case err == nil:
		// After a pause it may be another program that answers.
		_, _ = l.use(conn, c.proven && pause == 0)
	case l.life.Err() == nil:
		l.end() // this link does not come back: whoever listens there next has to be found anew
		close(l.gone)
	}
}

// pause is how long to wait before c, which has ended, is replaced.
func (l *httpLink) pause(c *httpConn) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.served || time.Since(c.opened) >= redialInterval {
		l.redial.reset()
		return 0
	}
	return l.redial.wait()
}

func (l *httpLink) holds(c *httpConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn == c && l.life.Err() == nil
}

func (l *httpLink) deliver(ctx context.Context, nonce string, payload []byte) error {
	reply, err := l.post(ctx, payload)
	if err != nil {
		return fmt.Errorf("POST device list to %s: %w", l.target.addr, timeoutAs(ctx, err))
	}
	return postResult(reply, nonce)
}

// post sends one request. A kept connection may have been closed by the server at the same
// moment; then the request is sent once more on a new one.
func (l *httpLink) post(ctx context.Context, payload []byte) (httpReply, error) {
	c, kept, err := l.connection(ctx)
	if err != nil {
		return httpReply{}, err
	}
	reply, err := l.exchange(ctx, c, payload)
	if err == nil || !kept || ctx.Err() != nil || !errors.Is(err, ErrLost) {
		return reply, err
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
	if !proven {
		if err := l.prove(ctx); err != nil {
			return nil, false, fmt.Errorf("%w: the port may have another owner: %w", ErrLost, err)
		}
	}
	c, err = l.dial(ctx)
	return c, false, err
}

func (l *httpLink) prove(ctx context.Context) error {
	if l.proofs == nil {
		return nil
	}
	p, err := probe(ctx, l.target, l.proofs)
	p.discard()
	return err
}

func (c *httpConn) exchange(ctx context.Context, request []byte) (httpReply, error) {
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	c.asked.Store(true)
	if _, err := c.Write(request); err != nil {
		return httpReply{}, fmt.Errorf("%w: %w", ErrLost, err)
	}
	select {
	case r := <-c.replies:
		return r, nil
	case <-c.done:
		select {
		case r := <-c.replies:
			return r, nil
		default:
			return httpReply{}, c.err
		}
	case <-ctx.Done():
		return httpReply{}, ctx.Err()
	}
}

// postRequest is a whole HTTP request. No Origin, no charset, a length: the client leaves
// requests that differ without an answer (rules R23 to R27).
func postRequest(t target, payload []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(payload) + 256)
	b.WriteString("POST /rpc?" + t.query() + " HTTP/1.1\r\n" +
		"Host: " + t.addr + "\r\n" +
		"Content-Type: application/json\r\n" +
		"Content-Length: " + strconv.Itoa(len(payload)) + "\r\n\r\n")
	b.Write(payload)
	return b.Bytes()
}

// postResult judges a reply: 200 with our nonce and no ERROR is delivery, 400 with a code is a
// refusal of the connection, anything else does not come from the client (rules R41 to R43).
func postResult(r httpReply, nonce string) error {
	switch r.status {
	case http.StatusOK:
		m, err := parseMessage(r.body)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotRPC, err)
		}
		if m.Nonce != nonce || m.Cmd != command || m.Args != nil { // args: a server that echoes
			return fmt.Errorf("%w: the reply is not to our command", ErrNotRPC)
		}
		return m.result()
	case http.StatusBadRequest:
		var f fault
		if json.Unmarshal(r.body, &f) == nil && f.Code != nil && *f.Code >= CodeClosed {
			return &Error{Phase: PhaseConnect, Code: *f.Code, Message: f.Message}
		}
	}
	return fmt.Errorf("%w: HTTP %d", ErrNotRPC, r.status)
}

func (l *httpLink) lost() <-chan struct{} { return l.gone }

func (l *httpLink) close() {
	l.mu.Lock()
	l.end()
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}
