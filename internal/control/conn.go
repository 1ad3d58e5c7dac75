package control

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

// conn is one connection of a peer.
type conn struct {
	net.Conn              // counts for the limit until it is closed
	raw       net.Conn    // below that
	holder    string      // names it to the Backend
	surplus   bool        // beyond the share of its process: it is only told so
	holding   atomic.Bool // it has pushed without a lease
	streaming atomic.Bool // it is being sent an endless answer, which anything that it sends ends
	idle      *time.Timer // closes it when it has been idle for too long
	closed    func()      // frees its place
}

type connKey struct{}

func connOf(r *http.Request) *conn { return r.Context().Value(connKey{}).(*conn) }

// hold notes that a push ends with the connection: from now on it may be idle for ever.
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
	if half, ok := c.raw.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *conn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// gate admits connections. netutil's listener keeps to the limit for all: what comes beyond it waits. One process gets only a share, so
// that a program that forgets to close its connections shuts out nobody but itself: of its further ones as many again are told that there
// are too many in answer to their request, as every HTTP library expects, and any more than that before they have sent one.
type gate struct {
	net.Listener               // with the limit
	accepted     *lastAccepted // what is below it
	server       *Server

	mu   sync.Mutex
	held map[int]holding // by process id; what unknown processes hold is not counted
}

// holding is what one process holds.
type holding struct {
	open int  // connections
	told bool // the log says that it opens too many
}

func newGate(l net.Listener, server *Server) *gate {
	last := &lastAccepted{Listener: l}
	return &gate{Listener: netutil.LimitListener(last, server.limits.connections), accepted: last, server: server, held: make(map[int]holding)}
}

// lastAccepted keeps the connection that it has accepted last: the one with a limit does not show which process it is of, nor closes
// only one direction. Accept is called by one goroutine.
type lastAccepted struct {
	net.Listener
	conn net.Conn
}

func (l *lastAccepted) Accept() (c net.Conn, err error) {
	c, err = l.Listener.Accept()
	l.conn = c
	return c, err
}

// connections counts those of all Servers: an agent whose socket was made anew has had two, whose holders must not be confused.
var connections atomic.Uint64

// tooMany is sent to a connection that is not even read from.
const tooMany = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 84\r\n\r\n" +
	`{"code":"busy","error":"too many connections: close those that are no longer used"}` + "\n"

// Accept waits for the next connection that is admitted.
func (g *gate) Accept() (net.Conn, error) {
	for {
		limited, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		raw, share := g.accepted.conn, g.server.limits.share
		pid := peerPID(raw)
		open, tell := g.enter(pid)
		if tell {
			g.server.log.Warn("a program has too many connections to the control socket; more are refused until it closes some",
				"pid", pid, "limit", share)
		}
		if open <= 2*share {
			return g.admit(limited, raw, pid, open > share), nil
		}
		g.leave(pid)
		// Nothing was sent to it before, so this does not block.
		_ = raw.SetWriteDeadline(time.Now().Add(g.server.limits.write))
		_, _ = raw.Write([]byte(tooMany))
		_ = limited.Close()
	}
}

// admit makes a connection that frees its place when it is closed.
func (g *gate) admit(limited, raw net.Conn, pid int, surplus bool) *conn {
	c := &conn{Conn: limited, raw: raw, holder: "connection " + strconv.FormatUint(connections.Add(1), 10), surplus: surplus}
	c.closed = sync.OnceFunc(func() { g.leave(pid) })
	c.idle = time.AfterFunc(g.server.limits.idle, func() { _ = c.Close() })
	g.server.open.Add(1)
	return c
}

// enter counts a connection of a process, and returns how many that has now. tell: they are too many, and the log has not said so since it
// had none.
func (g *gate) enter(pid int) (open int, tell bool) {
	if pid == 0 {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.held[pid]
	h.open++
	tell = h.open > g.server.limits.share && !h.told
	h.told = h.told || tell
	g.held[pid] = h
	return h.open, tell
}

func (g *gate) leave(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.held[pid]
	h.open--
	g.held[pid] = h
	if h.open <= 0 {
		delete(g.held, pid)
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
