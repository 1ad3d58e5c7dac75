package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Conn is one end of a connection. What is written to it fills the bounded buffer of the other end.
type Conn struct {
	owner         *Process
	peer          *Conn
	local, remote net.Addr
	series        string // names its packets for Options.Delay

	// Guarded by the network's lock.
	in                          []byte   // arrived and not read yet
	incoming                    []packet // on its way to this end, in order
	inFlight                    int      // bytes in incoming
	peerFinished                bool     // the other end sends no more
	broken                      bool     // it was reset
	finished                    bool     // this end sends no more
	closed                      bool
	abort                       bool // closing resets the connection
	frozen                      bool
	sent                        int  // packets
	writing                     bool // a Write is in progress
	readDeadline, writeDeadline time.Time
}

// A packet travels from one end to the other: bytes, the end of the stream, or a reset.
type packet struct {
	at    time.Time // when it arrives
	data  []byte
	last  bool // nothing follows
	reset bool
}

func newConn(owner *Process, local, remote net.Addr, series string) *Conn {
	c := &Conn{owner: owner, local: local, remote: remote, series: series}
	owner.conns[c] = struct{}{}
	return c
}

func (c *Conn) lock() func() { return c.owner.net.lock() }

// wait waits until something on the network has changed.
func (c *Conn) wait() { c.owner.net.changed.Wait() }

func (c *Conn) stalled() bool { return c.frozen || c.owner.frozen }

// Freeze blocks reads, writes and closing at this end, while the other end can still fill its buffer.
func (c *Conn) Freeze() { c.freeze(true) }

// Thaw undoes Freeze.
func (c *Conn) Thaw() { c.freeze(false) }

func (c *Conn) freeze(on bool) {
	defer c.lock()()
	c.frozen = on
}

// Read returns all data that has arrived before it reports the end of the stream or a reset.
func (c *Conn) Read(p []byte) (int, error) {
	defer c.lock()()
	for first := true; ; first = false {
		switch {
		case c.closed:
			return 0, c.fail("read", net.ErrClosed)
		case c.stalled():
		case first && passed(c.readDeadline):
			return 0, c.fail("read", os.ErrDeadlineExceeded)
		case len(p) == 0:
			return 0, nil
		case len(c.in) > 0:
			n := copy(p, c.in)
			c.in = c.in[n:]
			return n, nil
		case c.broken:
			return 0, c.fail("read", syscall.ECONNRESET)
		case c.peerFinished:
			return 0, io.EOF
		case passed(c.readDeadline):
			return 0, c.fail("read", os.ErrDeadlineExceeded)
		}
		c.wait()
	}
}

// Write returns when all of p is in the buffer of the other end, or in flight.
func (c *Conn) Write(p []byte) (n int, err error) {
	defer c.lock()()
	for c.writing { // one at a time
		if err := c.cannotWrite(); err != nil {
			return 0, c.fail("write", err)
		}
		c.wait()
	}
	c.writing = true
	defer func() { c.writing = false }()
	for {
		switch err := c.cannotWrite(); {
		case err != nil:
			return n, c.fail("write", err)
		case c.stalled():
		case c.peer.closed: // with TCP the write succeeds and causes a reset
			c.peer.send(packet{reset: true})
			return len(p), nil
		default:
			if m := min(len(p)-n, c.room()); m > 0 {
				c.send(packet{data: append([]byte(nil), p[n:n+m]...)})
				n += m
			}
			if n == len(p) {
				return n, nil
			}
		}
		c.wait()
	}
}

// cannotWrite returns why writing is not possible; nil: it is.
func (c *Conn) cannotWrite() error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.stalled():
		return nil
	case passed(c.writeDeadline):
		return os.ErrDeadlineExceeded
	case c.finished, c.broken, c.peer.closed && c.local.Network() == "unix":
		return syscall.EPIPE
	}
	return nil
}

// room returns the free space in the buffer of the other end.
func (c *Conn) room() int { return c.owner.net.opts.Buffer - len(c.peer.in) - c.peer.inFlight }

// send sends a packet. The network's lock must be held.
func (c *Conn) send(k packet) {
	to, n := c.peer, c.owner.net
	if n.opts.Delay == nil {
		to.take(k)
		return
	}
	c.sent++
	k.at = time.Now().Add(n.delay(c.series, c.sent))
	to.inFlight += len(k.data)
	to.incoming = append(to.incoming, k)
	if len(to.incoming) == 1 {
		to.expect()
	}
}

func (c *Conn) expect() { time.AfterFunc(time.Until(c.incoming[0].at), c.arrive) }

// arrive delivers the packets that are due, in order.
func (c *Conn) arrive() {
	defer c.lock()()
	for len(c.incoming) > 0 && !c.incoming[0].at.After(time.Now()) {
		k := c.incoming[0]
		c.incoming = c.incoming[1:]
		c.inFlight -= len(k.data)
		c.take(k)
	}
	if len(c.incoming) > 0 {
		c.expect()
	}
}

func (c *Conn) take(k packet) {
	switch {
	case k.reset:
		c.broken = true
	case k.last:
		c.peerFinished = true
	case c.closed:
		if !c.peer.closed {
			c.send(packet{reset: true})
		}
	default:
		c.in = append(c.in, k.data...)
	}
	c.owner.net.changed.Broadcast() // our caller may Wait next, which releases the lock without a signal
}

// CloseWrite ends the stream in this direction.
func (c *Conn) CloseWrite() error {
	defer c.lock()()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	if !c.finished {
		c.finished = true
		c.send(packet{last: true})
	}
	return nil
}

// Close closes the connection, with a reset if there is unread data. It blocks while frozen.
func (c *Conn) Close() error {
	defer c.lock()()
	for c.stalled() && !c.closed {
		c.wait()
	}
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.closeLocked()
	return nil
}

// closeLocked closes this end. The network's lock must be held.
func (c *Conn) closeLocked() {
	c.closed = true
	delete(c.owner.conns, c)
	switch {
	case len(c.in) > 0 || c.abort:
		c.send(packet{reset: true})
	case !c.finished:
		c.send(packet{last: true})
	}
	c.in = nil
}

// SetLinger with 0 makes Close reset the connection. TCP only.
func (c *Conn) SetLinger(sec int) error {
	defer c.lock()()
	if c.local.Network() == "unix" {
		return errors.ErrUnsupported
	}
	c.abort = sec == 0
	return nil
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline bounds reads and writes.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline bounds reads.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.setDeadline(&c.readDeadline, t)
}

// SetWriteDeadline bounds writes.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.setDeadline(&c.writeDeadline, t)
}

func (c *Conn) setDeadline(d *time.Time, t time.Time) error {
	defer c.lock()()
	if c.closed {
		return c.fail("set deadline", net.ErrClosed)
	}
	*d = t
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), c.owner.net.wake) // also for a deadline that was replaced: waiters look again
	}
	return nil
}

func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

func (c *Conn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}
