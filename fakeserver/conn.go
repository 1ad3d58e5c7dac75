package fakeserver

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// packetSize is how much the client reads from a socket at once, in bytes.
const packetSize = 64 << 10

// packets are buffers of that size. Most connections are short, and bring little.
var packets = sync.Pool{New: func() any { b := make([]byte, packetSize); return &b }}

// A conn is one accepted connection. It notes when bytes were last read from
// the socket: that is the moment a payload arrived, before any of it is parsed.
// It reads as much as is there, up to packetSize, which is one packet.
type conn struct {
	net.Conn
	run      *run
	id       int
	ipc      bool
	buffer   *[]byte       // of the last packet; nil: all of it has been handed on
	rest     []byte        // of the last packet: not yet handed on
	read     atomic.Int64  // of the last packet, in nanoseconds since srv.started
	packet   atomic.Int64  // the number of the packet from which bytes were last handed on
	count    atomic.Int64  // packets read
	closed   chan struct{} // when it is
	once     sync.Once
	ready    bool // READY was sent; guarded by srv.mu
	admitted bool // run.admitted counts it; guarded by srv.mu
}

// newConn counts nothing yet; see [run.addConn].
func newConn(raw net.Conn, r *run, ipc bool) *conn {
	return &conn{Conn: raw, run: r, ipc: ipc, closed: make(chan struct{})}
}

func (c *conn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		buffer := packets.Get().(*[]byte)
		n, err := c.Conn.Read(*buffer)
		c.run.srv.freezer.wait(c.closed)
		if n == 0 {
			packets.Put(buffer)
			return 0, err
		}
		c.buffer, c.rest = buffer, (*buffer)[:n]
		c.read.Store(int64(time.Since(c.run.srv.started)))
		c.count.Add(1)
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		packets.Put(c.buffer)
		c.buffer, c.rest = nil, nil
	}
	// While a request is answered net/http reads one byte ahead, on a goroutine
	// of its own. It is no part of that request.
	if len(p) > 1 {
		c.packet.Store(c.count.Load())
	}
	return n, nil
}

func (c *conn) Write(p []byte) (int, error) {
	c.run.srv.freezer.wait(c.closed)
	return c.Conn.Write(p)
}

func (c *conn) readAt() time.Time {
	return c.run.srv.started.Add(time.Duration(c.read.Load()))
}

// Close closes the socket and ends everything that waits on the connection.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		close(c.closed)
		err = c.Conn.Close()
		c.run.removeConn(c)
	})
	return err
}

// reset closes the connection the way a process that crashes with unread data
// does: the peer gets a TCP reset, where the network has such a thing.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// finish says that nothing follows. A pipe can be closed only as a whole, and keeps what the peer has not read yet.
func (c *conn) finish() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		_ = c.Close()
	}
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
