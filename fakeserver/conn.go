package fakeserver

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/fakeserver/internal/nodehttp"
)

// packetSize is how much the client reads from a socket at once, in bytes.
const packetSize = 64 << 10

// packets are buffers of that size, shared because most connections are short.
var packets = sync.Pool{New: func() any { b := make([]byte, packetSize); return &b }}

// A conn is one accepted connection. It notes when bytes were last read from the
// socket: that is when a payload arrived, before any of it is parsed. It reads one
// packet at a time: what is there, up to packetSize.
type conn struct {
	net.Conn
	run      *run
	id       int
	ipc      bool
	parser   *nodehttp.Parser // of requests; nil: those of net/http are good enough
	refused  atomic.Bool      // by the parser; nothing else is answered
	buffer   *[]byte          // of the last packet; nil if Read has returned all of it
	rest     []byte           // the part of the last packet that Read has not returned yet
	read     atomic.Int64     // time of the last packet, in nanoseconds since srv.started
	packet   atomic.Int64     // number of the packet whose bytes Read returned last
	count    atomic.Int64     // packets read
	closed   chan struct{}    // closed by Close
	once     sync.Once
	ready    atomic.Bool // READY was sent
	admitted bool        // an IPC connection for which there was room; guarded by srv.mu
}

func (c *conn) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if err := c.readPacket(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	if len(c.rest) == 0 {
		c.dropRest()
	}
	// While a request is answered, net/http reads one byte ahead on another
	// goroutine. It is not part of that request.
	if len(p) > 1 {
		c.packet.Store(c.count.Load())
	}
	return n, nil
}

// readPacket reads what came next. If the parser keeps it until more has come, there is no rest.
func (c *conn) readPacket() error {
	buffer := packets.Get().(*[]byte)
	n, err := c.Conn.Read(*buffer)
	c.run.srv.waitWhileFrozen(c.closed)
	if n == 0 {
		packets.Put(buffer)
		return err
	}
	c.buffer, c.rest = buffer, (*buffer)[:n]
	c.read.Store(int64(time.Since(c.run.srv.started)))
	c.count.Add(1)
	if c.parser == nil {
		return nil
	}
	rest, refusal := c.parser.Feed(c.rest)
	c.dropRest()
	if refusal != nil {
		c.refuse(refusal)
		return io.EOF
	}
	c.rest = rest
	return nil
}

// dropRest drops what was read and not returned yet.
func (c *conn) dropRest() {
	if c.buffer != nil {
		packets.Put(c.buffer)
	}
	c.buffer, c.rest = nil, nil
}

// refuse ends a connection on which something came that is no good request to the client's runtime.
func (c *conn) refuse(r *nodehttp.Refusal) {
	s := c.run.srv
	c.refused.Store(true)
	if r.Method == http.MethodPost && strings.HasPrefix(r.Target, "/rpc") {
		s.recordUnread(Payload{Time: c.readAt(), Transport: HTTP, Conn: c.id}, FaultNone, "request: "+r.Reason+": refused")
	}
	s.log.Info("http request refused", "conn", c.id, "reason", r.Reason)
	c.sayLast(r.Answer, c.Conn)
}

// sayLast sends the last words of a connection, and waits until the peer has closed it, too. ahead is where the rest of what the peer
// sends comes from.
func (c *conn) sayLast(text string, ahead io.Reader) {
	_ = c.SetDeadline(time.Now().Add(closeTimeout))
	if _, err := io.WriteString(c.Conn, text); err == nil {
		c.finish()
		_, _ = io.Copy(io.Discard, ahead) // closing on unread data would reset the connection
	}
}

func (c *conn) Write(p []byte) (int, error) {
	c.run.srv.waitWhileFrozen(c.closed)
	if c.refused.Load() {
		return 0, net.ErrClosed
	}
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

// reset closes the connection as a crash with unread data would: the peer gets a
// TCP reset, where the network has such a thing.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// canFinish reports whether the sending half can be closed by itself.
func (c *conn) canFinish() bool {
	_, can := c.Conn.(interface{ CloseWrite() error })
	return can
}

// finish closes the sending half. A pipe can only be closed as a whole; the peer can still read what was written.
func (c *conn) finish() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		_ = c.Close()
	}
}

// sleep waits until a time. It reports false if the connection or gone was closed
// before.
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
