package control

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one connection of a peer.
type conn struct {
	net.Conn
	holder    string      // names it to the Backend
	surplus   bool        // beyond the limit: it is only told so
	holding   atomic.Bool // it has pushed without a lease
	streaming atomic.Bool // it is being sent an endless answer, which anything that it sends ends
	idle      *time.Timer // closes it when it has been idle for too long
	closed    func()      // frees its place
}

type connKey struct{}

func connOf(r *http.Request) *conn { return r.Context().Value(connKey{}).(*conn) }

// hold notes that a push, or a handover, ends with the connection: from now on it may be idle for ever.
func (c *conn) hold() { c.holding.Store(true) }

var errAfterStream = errors.New("a request behind one whose answer has no end")

// Read ends an endless answer when its peer sends anything: net/http would keep that byte for later
// and never check again whether the peer is still there.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.streaming.Load() {
		return 0, errAfterStream
	}
	return n, err
}

// CloseWrite lets a peer that is still sending read the answer before the connection breaks.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *conn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// gate admits a limited number of connections. As many again are admitted to be told that there are too many, in answer to their
// request, as every HTTP library expects. Any more than that are told before they have sent one.
//
// One process gets only a share of the places, so that a program that forgets to close its connections shuts out nobody but itself.
type gate struct {
	net.Listener
	server *Server
	shares shares
	places chan struct{} // has an element for each connection that is served
	spare  chan struct{} // and for each that is only told
	stuck  atomic.Bool   // all places are taken, and none has become free recently
	full   atomic.Bool   // it has been logged that all places are taken
}

// connections counts those of all Servers: an agent that has handed over and taken back its socket has had two, whose holders must not be
// confused.
var connections atomic.Uint64

// tooMany is sent to a connection that is not even read from.
const tooMany = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 84\r\n\r\n" +
	`{"code":"busy","error":"too many connections: close those that are no longer used"}` + "\n"

// Accept waits for the next connection that is admitted.
func (g *gate) Accept() (net.Conn, error) {
	for {
		raw, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		pid := peerPID(raw)
		within := g.shares.take(pid, g.server.limits.share)
		if within && g.enter() {
			return g.admit(raw, g.places, func() { g.shares.giveBack(pid) }), nil
		}
		if within {
			g.shares.giveBack(pid)
		}
		if g.full.CompareAndSwap(false, true) {
			g.server.log.Warn("too many connections to the control socket; more are refused until some are closed",
				"limit", cap(g.places), "share of a process", g.server.limits.share, "pid", pid)
		}
		select {
		case g.spare <- struct{}{}:
			return g.admit(raw, g.spare, func() {}), nil
		default:
		}
		// Nothing was sent to it before, so this does not block.
		_ = raw.SetWriteDeadline(time.Now().Add(g.server.limits.write))
		_, _ = raw.Write([]byte(tooMany))
		_ = raw.Close()
	}
}

// enter takes a place. If all are taken it waits a moment for one: in a storm of connections that are closed as soon as they are open,
// places become free all the time, and the next connection may be a legitimate one.
func (g *gate) enter() bool {
	select {
	case g.places <- struct{}{}:
		return true
	default:
	}
	if g.stuck.Load() {
		return false
	}
	patience := time.NewTimer(g.server.limits.patience)
	defer patience.Stop()
	select {
	case g.places <- struct{}{}:
		return true
	case <-patience.C:
		g.stuck.Store(true)
		return false
	}
}

// admit makes a connection that frees its place when it is closed.
func (g *gate) admit(raw net.Conn, place chan struct{}, closed func()) *conn {
	c := &conn{Conn: raw, holder: "connection " + strconv.FormatUint(connections.Add(1), 10), surplus: place == g.spare}
	c.closed = sync.OnceFunc(func() {
		closed()
		<-place
		if !c.surplus {
			g.stuck.Store(false)
		}
		if len(g.places) == 0 {
			g.full.Store(false)
		}
	})
	c.idle = time.AfterFunc(g.server.limits.idle, func() { _ = c.Close() })
	g.server.open.Add(1)
	return c
}

// shares are how many places each process has.
type shares struct {
	mu  sync.Mutex
	has map[int]int // by process id; those of unknown processes are not counted
}

// take reports whether the process may have one more.
func (s *shares) take(pid, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pid != 0 && s.has[pid] == most {
		return false
	}
	if pid != 0 {
		s.has[pid]++
	}
	return true
}

func (s *shares) giveBack(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[pid]--; s.has[pid] <= 0 {
		delete(s.has, pid)
	}
}

// peerPID returns the process that opened c; 0: the listener does not know it.
func peerPID(c net.Conn) int {
	if known, ok := c.(interface{ PeerPID() int }); ok {
		return known.PeerPID()
	}
	return 0
}

// connState closes connections that are idle for too long, unless they hold a push, and ends the
// pushes of one that is closed.
func (s *Server) connState(nc net.Conn, state http.ConnState) {
	c := nc.(*conn)
	switch state {
	case http.StateActive:
		c.idle.Stop()
	case http.StateIdle:
		if !c.holding.Load() {
			c.idle.Reset(s.limits.idle)
		}
	case http.StateClosed:
		c.idle.Stop()
		if c.holding.Load() {
			s.backend.Release(c.holder)
		}
		s.open.Done()
	}
}
