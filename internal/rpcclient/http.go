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
	"time"
)

// redialInterval is how long a connection that served nothing must have lived for its end to
// be answered with a new one: a server that closes idle connections must not make us spin.
const redialInterval = 5 * time.Second

// httpLink is a link over HTTP POST. It writes its requests itself: each must leave in one
// write with exactly the headers that the client accepts. Between requests it keeps a
// connection open, because nothing else tells that the client has gone (rule R28).
type httpLink struct {
	target target
	gone   chan struct{} // closed once the client cannot be reached any more

	mu     sync.Mutex
	conn   *httpConn // nil: the next deliver dials
	closed bool
	wg     sync.WaitGroup
}

// httpConn is one connection. Its goroutine reads replies until the end.
type httpConn struct {
	net.Conn
	opened  time.Time
	served  bool // has given a reply; owned by the reader until done
	replies chan httpReply
	done    chan struct{}
	err     error // why it ended, set before done is closed
}

type httpReply struct {
	status int
	body   []byte
}

func openHTTP(ctx context.Context, t target) (*httpLink, error) {
	l := &httpLink{target: t, gone: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.dial(ctx); err != nil {
		return nil, fmt.Errorf("http to %s: %w", t.addr, timeoutAs(ctx, err))
	}
	return l, nil
}

// dial replaces l.conn. l.mu is held.
func (l *httpLink) dial(ctx context.Context) error {
	conn, err := dialTCP(ctx, "tcp4", l.target.addr)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	c := &httpConn{Conn: conn, opened: time.Now(), replies: make(chan httpReply, 1), done: make(chan struct{})}
	l.conn = c
	l.wg.Go(func() {
		c.read()
		l.ended(c)
	})
	return nil
}

func (c *httpConn) read() {
	defer close(c.done)
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		reply, last, err := readReply(r)
		if err != nil {
			c.err = err
			return
		}
		c.served = true
		select {
		case c.replies <- reply:
		default: // nobody asked: out of step
			c.err = fmt.Errorf("%w: a reply to no request", ErrNotRPC)
			return
		}
		if last {
			c.err = fmt.Errorf("%w: closed by the server after its reply", ErrLost)
			return
		}
	}
}

// readReply reads one reply; last says that the server closes the connection after it.
func readReply(r *bufio.Reader) (reply httpReply, last bool, err error) {
	if _, err := r.Peek(1); err != nil {
		return httpReply{}, false, fmt.Errorf("%w: %w", ErrLost, err)
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return httpReply{}, false, fmt.Errorf("%w: %w", ErrNotRPC, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return httpReply{}, false, fmt.Errorf("%w: %w", ErrLost, err)
	}
	return httpReply{resp.StatusCode, body}, resp.Close || len(body) == maxAnswer, nil
}

// ended follows the end of a connection. A server may close one merely because it is idle;
// only when it cannot be reached again has the client gone.
func (l *httpLink) ended(c *httpConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != c || l.closed {
		return
	}
	l.conn = nil
	if !c.served && time.Since(c.opened) < redialInterval {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.dial(ctx) != nil {
		close(l.gone)
	}
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

// connection returns the kept connection, or a new one.
func (l *httpLink) connection(ctx context.Context) (c *httpConn, kept bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		select {
		case <-l.conn.done:
		default:
			return l.conn, true, nil
		}
	}
	if err := l.dial(ctx); err != nil {
		return nil, false, err
	}
	return l.conn, false, nil
}

func (c *httpConn) exchange(ctx context.Context, request []byte) (httpReply, error) {
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
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
		if m.Nonce != nonce || m.Cmd != command {
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
	l.closed = true
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}
