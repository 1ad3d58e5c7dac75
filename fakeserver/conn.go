package fakeserver

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A conn is one accepted connection. It notes when bytes were last read from
// the socket: that is the moment a payload arrived, before any of it is parsed.
type conn struct {
	net.Conn
	run    *run
	id     int
	read   atomic.Int64 // of the last read, in nanoseconds since srv.born
	closed chan struct{}
	once   sync.Once
	ready  bool // READY was sent; guarded by srv.mu
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.read.Store(int64(time.Since(c.run.srv.born)))
	}
	return n, err
}

func (c *conn) readAt() time.Time {
	return c.run.srv.born.Add(time.Duration(c.read.Load()))
}

// Close closes the socket and ends everything that waits on the connection.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		err = c.Conn.Close()
		close(c.closed)
		c.run.forget(c)
	})
	return err
}

// reset closes the connection the way a process that crashes with unread data
// does: the peer gets a TCP reset.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// sleep waits until the time comes. It reports false when the connection was
// closed, or gone was, before.
func (c *conn) sleep(until time.Time, gone <-chan struct{}) bool {
	d := time.Until(until)
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closed:
	case <-gone:
	}
	return false
}
