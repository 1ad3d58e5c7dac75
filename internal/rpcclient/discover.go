package rpcclient

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/stable"
)

// location is where one client process listens: on an IPC socket, a port or both.
type location struct {
	socket local.Socket   // Path "" = none
	port   local.Listener // Port 0 = none
	local.Process
}

func (l location) hasSocket() bool { return l.socket.Path != "" }
func (l location) hasPort() bool   { return l.port.Port != 0 }
func (l location) empty() bool     { return !l.hasSocket() && !l.hasPort() }

func (l location) offers(t Transport) bool {
	if t == IPC {
		return l.hasSocket()
	}
	return l.hasPort()
}

// address is that over the transport; "" is none in particular.
func (l location) address(over Transport) Address {
	a := Address{Transport: over, PID: l.PID, Name: l.Name}
	if over == IPC || over == "" && l.hasSocket() {
		a.Socket = l.socket.Path
	} else {
		a.Port = l.port.Port
	}
	return a
}

// changedSince reports whether something that was there is gone, or was made anew.
func (l location) changedSince(from location) bool {
	return from.hasSocket() && l.socket != from.socket || from.hasPort() && l.port != from.port
}

// showsRestarts reports whether a restart of the client would be seen.
func (l location) showsRestarts() bool { return l.socket.ID != "" || l.port.ID != 0 }

// foundSocket is an IPC socket with a fresh connection to its owner.
type foundSocket struct {
	local.Socket
	local.Process
	conn net.Conn // nil: it is denied
}

// unreachableSocket is an IPC socket that could not be connected to.
type unreachableSocket struct {
	id      string
	tries   int
	nextTry time.Time // zero: not before it is made anew, or the machine has slept
	err     error
}

// refusedTries is how often a socket may refuse before it is left alone: it exists a moment before
// somebody listens on it. Whatever else goes wrong may be over at any time.
const refusedTries = 5

func (u *unreachableSocket) failed(err error, now time.Time) {
	wait := 50 * time.Millisecond << (2 * min(u.tries, refusedTries)) // 50 ms to 51 s
	u.tries++
	u.err, u.nextTry = err, now.Add(wait)
	if u.tries > refusedTries && errors.Is(err, syscall.ECONNREFUSED) && u.id != "" {
		u.nextTry = time.Time{}
	}
}

// scan compares what the system says with the known clients: each keeps what it still has, and
// what is left over is returned.
func (c *Client) scan(ctx context.Context) (sockets []foundSocket, ports []local.Listener) {
	c.notes = nil
	// A client opens its port after its socket: in this order, one whose port is found is found by its
	// socket, too, and not talked to over HTTP first.
	ports = c.scanPorts(ctx)
	return c.scanSockets(ctx), ports
}

func (c *Client) scanSockets(ctx context.Context) []foundSocket {
	var sockets []local.Socket
	if slices.Contains(c.opts().Transports, IPC) {
		var notes []health.Condition
		sockets, notes = c.opts().Local.Sockets()
		c.notes = append(c.notes, notes...)
	}
	for _, p := range c.peers {
		i := slices.Index(sockets, p.socket)
		if i < 0 || c.hasNewOwner(ctx, p) {
			p.socket = local.Socket{}
			continue
		}
		sockets = slices.Delete(sockets, i, i+1)
	}
	now := time.Now()
	for path, d := range c.unreachable {
		if !slices.Contains(sockets, local.Socket{Path: path, ID: d.id}) {
			delete(c.unreachable, path)
		}
	}
	sockets = slices.DeleteFunc(sockets, func(s local.Socket) bool {
		d := c.unreachable[s.Path]
		return d != nil && (d.nextTry.IsZero() || d.nextTry.After(now))
	})
	seen := c.dialSockets(ctx, sockets)
	for path, d := range c.unreachable {
		c.notes = append(c.notes, health.Wrap(d.err, health.SocketUnreachable, health.Warning, health.Args{"path": path}).Condition)
	}
	stable.Sort(c.notes, func(a, b health.Condition) int {
		return strings.Compare(health.English.Phrase(a), health.English.Phrase(b))
	})
	return seen
}

// dialSockets connects to all at once, so that one which hangs costs no more than ProbeTimeout.
func (c *Client) dialSockets(ctx context.Context, sockets []local.Socket) []foundSocket {
	ctx, cancel := context.WithTimeout(ctx, c.opts().ProbeTimeout)
	defer cancel()
	all := make([]foundSocket, len(sockets))
	errs := make([]error, len(sockets))
	var wg sync.WaitGroup
	for i, s := range sockets {
		wg.Go(func() {
			all[i].Socket = s
			all[i].conn, all[i].Process, errs[i] = c.opts().Local.Dial(ctx, s.Path)
		})
	}
	wg.Wait()
	var seen []foundSocket
	for i, s := range all {
		if errs[i] == nil || s.Denied {
			delete(c.unreachable, s.Path)
			seen = append(seen, s)
			continue
		}
		c.markUnreachable(s.Socket, errs[i])
	}
	return seen
}

// lookAgainLater sets when hasNewOwner looks, where the system would not show a restart: nothing tells a pipe from the next one.
func (c *Client) lookAgainLater(p *peer) {
	p.nextTry = time.Time{}
	if p.hasSocket() && !p.showsRestarts() {
		p.nextTry = time.Now().Add(p.refusalBackoff.wait())
	}
}

// hasNewOwner reports whether the socket of another user's client has come to another process, if it is time to look.
func (c *Client) hasNewOwner(ctx context.Context, p *peer) bool {
	if c.stateOf(p) != Foreign || p.nextTry.IsZero() || p.nextTry.After(time.Now()) {
		return false
	}
	c.lookAgainLater(p)
	ctx, cancel := context.WithTimeout(ctx, c.opts().ProbeTimeout)
	defer cancel()
	conn, owner, err := c.opts().Local.Dial(ctx, p.socket.Path)
	if err == nil {
		_ = conn.Close()
	}
	return (err == nil || owner.Denied) && owner != p.Process
}

func (c *Client) markUnreachable(s local.Socket, err error) {
	if c.unreachable[s.Path] == nil {
		c.unreachable[s.Path] = &unreachableSocket{id: s.ID}
	}
	c.unreachable[s.Path].failed(err, time.Now())
}

func (c *Client) scanPorts(ctx context.Context) []local.Listener {
	if !c.usesPorts() {
		for _, p := range c.peers {
			p.port = local.Listener{}
		}
		return nil
	}
	machine := c.opts().Local
	listeners, err := machine.Listeners(c.opts().Ports)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		for _, port := range c.connectToPorts(ctx, c.portsInUse()) {
			listeners = append(listeners, local.Listener{Port: port})
		}
	case err != nil: // whose the ports are is unknown for now: what is known stays, nothing new is asked
		c.notes = append(c.notes, health.Explained(err.Error())...)
		return nil
	case machine.HidesListeners():
		listeners = append(listeners, c.unlisted.listeners(c.opts().Ports, listeners)...)
	}
	stable.Sort(listeners, func(a, b local.Listener) int {
		return slices.Index(c.opts().Ports, a.Port) - slices.Index(c.opts().Ports, b.Port)
	})
	for _, p := range c.peers {
		i := slices.IndexFunc(listeners, func(l local.Listener) bool { return l.Port == p.port.Port && l.ID == p.port.ID })
		if i < 0 {
			p.port = local.Listener{}
			continue
		}
		listeners = slices.Delete(listeners, i, i+1)
	}
	if len(listeners) > 0 {
		machine.Identify(listeners)
	}
	return listeners
}

// usesPorts reports whether any transport uses a port.
func (c *Client) usesPorts() bool { return len(c.portTransports()) > 0 }

// portsInUse are the ports of attempts: that one has closed will be noticed there.
func (c *Client) portsInUse() (ports []int) {
	for _, p := range c.peers {
		if p.attempt != nil && p.hasPort() {
			ports = append(ports, p.port.Port)
		}
	}
	return ports
}

// connectToPorts finds the ports with a listener where the system does not tell: by connecting to
// all of them at once, but for those in use.
func (c *Client) connectToPorts(ctx context.Context, inUse []int) (open []int) {
	ctx, cancel := context.WithTimeout(ctx, c.opts().ProbeTimeout)
	defer cancel()
	ports := slices.Clone(c.opts().Ports)
	var wg sync.WaitGroup
	for i, port := range ports {
		if slices.Contains(inUse, port) {
			continue
		}
		wg.Go(func() {
			conn, err := c.opts().DialPort(ctx, port)
			if err != nil || conn.Close() != nil {
				ports[i] = 0
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(ports, func(port int) bool { return port == 0 })
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// dialLoopback connects to a port of this machine.
func dialLoopback(ctx context.Context, port int) (net.Conn, error) {
	return dialTCP(ctx, loopback(port))
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp4", addr)
}

// reconcile gives what was found to the known clients of the same process that lack it, and makes new
// clients of the rest. A process has one socket and one port; several of either are several clients,
// paired in order (rule R75).
func (c *Client) reconcile(sockets []foundSocket, ports []local.Listener) {
	for _, seen := range sockets {
		if p := c.peerTalkingOver(seen); p != nil { // only its times have changed
			p.socket = seen.Socket
			_ = seen.conn.Close()
			continue
		}
		p := c.peerWithout(seen.PID, func(p *peer) bool { return !p.hasSocket() })
		if p == nil {
			p = c.newPeer(seen.Process)
		}
		p.socket, p.Process = seen.Socket, seen.Process
		if seen.conn != nil {
			p.keepConn(seen.conn)
		}
		c.applyOutcome(p, onNewChance)
	}
	for _, l := range ports {
		p := c.peerWithout(l.PID, func(p *peer) bool { return !p.hasPort() })
		if p == nil {
			p = c.newPeer(l.Process)
		}
		p.port = l
		c.applyOutcome(p, onNewChance)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.peers, c.rank)
}

// peerTalkingOver returns the client that is talked to over the very same socket of the same process,
// which may have got another name or other times.
func (c *Client) peerTalkingOver(s foundSocket) *peer {
	i := slices.IndexFunc(c.peers, func(p *peer) bool {
		same := p.attempt != nil && (p.attempt.at.socket.Path == s.Path || p.attempt.at.socket.ID == s.ID && s.ID != "")
		return same && p.PID == s.PID && s.PID != 0
	})
	if i < 0 {
		return nil
	}
	return c.peers[i]
}

// peerWithout returns the first client of the process that lacks something, and has, or had, another.
func (c *Client) peerWithout(pid int, lacks func(*peer) bool) *peer {
	i := slices.IndexFunc(c.peers, func(p *peer) bool {
		// New settings may leave out all that one has which is talked to.
		known := !p.empty() || p.attempt != nil && p.attempt.settingsChanged
		return pid != 0 && p.PID == pid && known && lacks(p)
	})
	if i < 0 {
		return nil
	}
	return c.peers[i]
}
