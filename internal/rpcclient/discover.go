package rpcclient

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
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

// address returns the address over the transport; "" means that none was chosen yet.
func (l location) address(over Transport) Address {
	a := Address{Transport: over, PID: l.PID, Name: l.Name}
	if over == IPC || over == "" && l.hasSocket() {
		a.Socket = l.socket.Path
	} else {
		a.Port = l.port.Port
	}
	return a
}

// changedSince reports whether the socket or the port of from is gone or was created anew.
func (l location) changedSince(from location) bool {
	return from.hasSocket() && l.socket != from.socket || from.hasPort() && l.port != from.port
}

// showsRestarts reports whether a restart of the client would be seen.
func (l location) showsRestarts() bool { return l.socket.ID != "" || l.port.ID != 0 }

// foundSocket is an IPC socket with a fresh connection to its owner.
type foundSocket struct {
	local.Socket
	local.Process
	conn net.Conn // nil: access is denied, or err
	err  error
}

// unreachableSocket is an IPC socket that could not be connected to.
type unreachableSocket struct {
	id      string
	tries   int
	nextTry time.Time // zero: not before it is created anew or the machine has slept
	err     error
}

// refusedTries is how often a socket may refuse before it is left alone: its file exists a moment before
// somebody listens on it. Other errors are retried forever, because they may end at any time.
const refusedTries = 5

// scan asks the system for sockets and listeners, removes from the known clients those that are gone, and
// returns the new ones.
func (c *Client) scan(ctx context.Context) (sockets []foundSocket, ports []local.Listener) {
	c.notes = nil
	// A client opens its port after its socket. In this order, a client whose port is found is always found by
	// its socket, too, and is not talked to over HTTP first.
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
	maps.DeleteFunc(c.unreachable, func(path string, u *unreachableSocket) bool {
		return !slices.Contains(sockets, local.Socket{Path: path, ID: u.id})
	})
	sockets = slices.DeleteFunc(sockets, func(s local.Socket) bool {
		d := c.unreachable[s.Path]
		return d != nil && (d.nextTry.IsZero() || d.nextTry.After(now))
	})
	found := c.dialSockets(ctx, sockets)
	for path, d := range c.unreachable {
		c.notes = append(c.notes, health.Wrap(d.err, health.SocketUnreachable, health.Warning, health.Args{"path": path}).Condition)
	}
	slices.SortStableFunc(c.notes, func(a, b health.Condition) int {
		return strings.Compare(health.English.Phrase(a), health.English.Phrase(b))
	})
	return found
}

// dialSockets connects to all sockets at once, so that those that hang cost ProbeTimeout in all. It returns those that can be reached
// or deny access.
func (c *Client) dialSockets(ctx context.Context, sockets []local.Socket) []foundSocket {
	ctx, cancel := context.WithTimeout(ctx, c.opts().ProbeTimeout)
	defer cancel()
	all := make([]foundSocket, len(sockets))
	var wg sync.WaitGroup
	for i, s := range sockets {
		wg.Go(func() {
			all[i].Socket = s
			all[i].conn, all[i].Process, all[i].err = c.opts().Local.Dial(ctx, s.Path)
		})
	}
	wg.Wait()
	return slices.DeleteFunc(all, func(s foundSocket) bool {
		if s.err != nil && !s.Denied {
			c.markUnreachable(s.Socket, s.err)
			return true
		}
		delete(c.unreachable, s.Path)
		return false
	})
}

// lookAgainLater sets when hasNewOwner looks next, where the system shows no restart: a pipe looks like the one before it.
func (c *Client) lookAgainLater(p *peer) {
	p.nextTry = time.Time{}
	if p.hasSocket() && !p.showsRestarts() {
		p.nextTry = time.Now().Add(p.refusalBackoff.Wait())
	}
}

// hasNewOwner reports whether the socket of another user's client belongs to another process now, if it is time to look.
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
	u := c.unreachable[s.Path]
	if u == nil {
		u = &unreachableSocket{id: s.ID}
		c.unreachable[s.Path] = u
	}
	wait := 50 * time.Millisecond << (2 * min(u.tries, refusedTries)) // 50 ms to 51 s
	u.tries++
	u.err, u.nextTry = err, time.Now().Add(wait)
	if u.tries > refusedTries && errors.Is(err, syscall.ECONNREFUSED) && u.id != "" {
		u.nextTry = time.Time{}
	}
}

func (c *Client) scanPorts(ctx context.Context) []local.Listener {
	if len(c.portTransports()) == 0 {
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
	case err != nil: // the owners of ports are unknown for now: known clients keep theirs, and no new one is asked
		c.notes = append(c.notes, health.Explained(err.Error())...)
		return nil
	case machine.HidesListeners():
		listeners = append(listeners, c.unlisted.listeners(c.opts().Ports, listeners)...)
	}
	slices.SortStableFunc(listeners, func(a, b local.Listener) int {
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

// portsInUse returns the ports of running attempts, which notice themselves when their port closes.
func (c *Client) portsInUse() (ports []int) {
	for _, p := range c.peers {
		if p.attempt != nil && p.hasPort() {
			ports = append(ports, p.port.Port)
		}
	}
	return ports
}

// connectToPorts finds the ports with a listener where the system does not list them: by connecting to
// all of them at once. Those in use are not connected to, and count as open.
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

// dialLoopback connects to a port of this machine.
func dialLoopback(ctx context.Context, port int) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp4", link.Loopback(port))
}

// reconcile assigns new sockets and ports to the known clients of the same process that lack one, and
// makes new clients of the rest. A process has one socket and one port; several of either are several
// clients, paired in order (rule R75).
func (c *Client) reconcile(sockets []foundSocket, ports []local.Listener) {
	for _, s := range sockets {
		if p := c.findPeer(s.PID, func(p *peer) bool { return p.attempt != nil && p.attempt.at.hasSameSocket(s) }); p != nil {
			p.socket = s.Socket // only its path or its times have changed
			_ = s.conn.Close()
			continue
		}
		p := c.peerLacking(s.Process, func(p *peer) bool { return !p.hasSocket() })
		p.socket, p.Process = s.Socket, s.Process
		if s.conn != nil {
			p.keepConn(s.conn)
		}
		c.applyOutcome(p, onNewChance)
	}
	for _, l := range ports {
		p := c.peerLacking(l.Process, func(p *peer) bool { return !p.hasPort() })
		p.port = l
		c.applyOutcome(p, onNewChance)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.peers, c.rank)
}

func (l location) hasSameSocket(s foundSocket) bool {
	return l.socket.Path == s.Path || l.socket.ID == s.ID && s.ID != ""
}

// peerLacking returns the first client of the process that has one of socket and port and lacks the other, or a new one.
func (c *Client) peerLacking(owner local.Process, lacks func(*peer) bool) *peer {
	p := c.findPeer(owner.PID, func(p *peer) bool {
		// New settings may exclude both while an attempt is still running.
		known := !p.empty() || p.attempt != nil && p.attempt.settingsChanged
		return known && lacks(p)
	})
	if p == nil {
		p = c.newPeer(owner)
	}
	return p
}

// findPeer returns the first client of the process that matches; nil: there is none, or the process is unknown.
func (c *Client) findPeer(pid int, matches func(*peer) bool) *peer {
	for _, p := range c.peers {
		if pid != 0 && p.PID == pid && matches(p) {
			return p
		}
	}
	return nil
}
