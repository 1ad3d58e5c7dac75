package link

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"sidetone/internal/signal"
)

// httpConn is one connection. Its goroutine reads replies until the connection ends.
type httpConn struct {
	net.Conn
	opened        time.Time
	proven        bool           // the server has proved to be a client
	awaitingReply atomic.Bool    // a request was not replied to yet
	served        bool           // there was a reply; owned by the reader until replies is closed
	replies       chan httpReply // closed at the end
	err           error          // why it ended, set before replies is closed
}

type httpReply struct {
	status int
	body   []byte
}

func (c *httpConn) read() {
	defer close(c.replies)
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
		case !c.awaitingReply.Swap(false):
			c.err = fmt.Errorf("%w: the server sent HTTP %d without being asked", ErrLost, reply.status)
		case reply.status == http.StatusRequestTimeout: // how servers end a connection that was idle for too long
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

// readReply reads one reply; last says that the server closes the connection after it. The caller
// limits what r can read.
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

// replaceConn replaces a connection that has ended. A server may close one merely because it is idle;
// the client has gone only if it cannot be connected to again, or has restarted and forgotten (rule R51).
func (l *httpLink) replaceConn(c *httpConn) {
	pause := l.redialDelay(c)
	_ = signal.Sleep(l.lifetime, pause)
	if !l.uses(c) {
		return
	}
	ctx, cancel := context.WithTimeout(l.lifetime, redialTimeout)
	defer cancel()
	conn, known, err := l.connect(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.conn != c: // deliver was faster
		if err == nil {
			_ = conn.Close()
		}
	case err == nil:
		// After a pause, or where nobody knows whose the port is, it may be another program that answers.
		_, _ = l.useConn(conn, c.proven && pause == 0 && known)
	case l.lifetime.Err() == nil:
		l.endLifetime() // this link is over: the next listener has to be found anew
	}
}

// redialDelay returns how long to wait before c, which has ended, is replaced.
func (l *httpLink) redialDelay(c *httpConn) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.served || time.Since(c.opened) >= redialInterval {
		l.redial.Reset()
		return 0
	}
	return l.redial.Wait()
}

func (l *httpLink) uses(c *httpConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn == c && l.lifetime.Err() == nil
}

func (c *httpConn) exchange(ctx context.Context, request []byte) (httpReply, error) {
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	c.awaitingReply.Store(true)
	if _, err := c.Write(request); err != nil {
		return httpReply{}, fmt.Errorf("%w: %w", ErrLost, err)
	}
	select {
	case r, ok := <-c.replies:
		if !ok {
			return httpReply{}, c.err
		}
		return r, nil
	case <-ctx.Done():
		return httpReply{}, ctx.Err()
	}
}

// postRequest returns a whole HTTP request, without Origin and charset, and with a length: the client
// does not answer other requests (rules R23 to R27).
func postRequest(t Target, payload []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(payload) + 256)
	b.WriteString("POST /rpc?" + t.query() + " HTTP/1.1\r\n" +
		"Host: " + t.Addr() + "\r\n" +
		"Content-Type: application/json\r\n" +
		"Content-Length: " + strconv.Itoa(len(payload)) + "\r\n\r\n")
	b.Write(payload)
	return b.Bytes()
}

// postResult returns nil for a reply that accepts the list (200 with our nonce and no ERROR), and the typed error for one
// that refuses the list or the connection (400 with a code). Other replies do not come from the client (rules R41 to R43).
func postResult(r httpReply, nonce string) error {
	switch r.status {
	case http.StatusOK:
		m, err := parseMessage(r.body)
		switch {
		case err != nil:
			return err
		case !m.answers(nonce):
			return fmt.Errorf("%w: the reply is not to our command", ErrNotRPC)
		}
		return m.result()
	case http.StatusBadRequest:
		var f fault
		if json.Unmarshal(r.body, &f) == nil && f.Code != nil && *f.Code >= CodeClosed {
			return &Refusal{Phase: PhaseConnect, Code: *f.Code, Message: f.Message}
		}
	}
	return fmt.Errorf("%w: HTTP %d", ErrNotRPC, r.status)
}
