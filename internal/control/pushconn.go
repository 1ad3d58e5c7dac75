package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// PushConn makes pushes without a lease, all over one connection: they are in force until it ends.
// The caller closes it.
type PushConn struct {
	http http.Client
	dial Dialer
	done chan struct{} // closed when the connection has ended

	mu   sync.Mutex
	conn net.Conn // nil before the first push
}

// PushConn prepares pushes without a lease. The connection is opened by the first of them.
func (c *Client) PushConn() *PushConn {
	h := &PushConn{dial: c.dial, done: make(chan struct{})}
	h.http = httpClient(&http.Transport{DialContext: h.open, MaxConnsPerHost: 1})
	return h
}

// open opens the connection, once: on a second one none of the earlier pushes would be in force.
func (h *PushConn) open(ctx context.Context, _, _ string) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		return nil, ErrEnded
	}
	raw, err := h.dial(ctx)
	if err != nil {
		return nil, err
	}
	h.conn = newRequestConn(raw, h.done)
	return h.conn, nil
}

// Push sets the state of a product until the PushConn ends, or for the time of its lease. Errors
// are those of Client, and ErrEnded, which means that none of the pushes is in force any more. The
// PushConn also ends if ctx ends before the answer comes.
func (h *PushConn) Push(ctx context.Context, product string, r PushRequest) (PushAnswer, error) {
	answer, err := push(ctx, &h.http, product, r)
	var refused *Problem
	if err == nil || errors.As(err, &refused) {
		return answer, err
	}
	if errors.Is(err, ErrSilent) {
		return answer, tooLate{errors.Join(ErrEnded, err)}
	}
	select {
	case <-h.done:
		return answer, fmt.Errorf("%w (%w)", ErrEnded, err)
	default:
		return answer, err
	}
}

// Done is closed when the connection has ended, by Close or by the agent.
func (h *PushConn) Done() <-chan struct{} { return h.done }

// Close ends what was pushed without a lease.
func (h *PushConn) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil {
		return nil
	}
	err := h.conn.Close()
	h.http.CloseIdleConnections()
	return err
}
