package memnet

import "net"

// Listener accepts connections to a port or a socket.
type Listener struct {
	owner *Process
	addr  net.Addr
	id    uint64

	// Guarded by the network's lock.
	queue  []*Conn // connected, not accepted yet
	frozen bool
	hidden bool
	closed bool
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	defer l.owner.net.lock()()
	for !l.closed && (l.frozen || l.owner.frozen || len(l.queue) == 0) {
		l.owner.net.changed.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: l.addr.Network(), Addr: l.addr, Err: net.ErrClosed}
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	return c, nil
}

// Addr returns the port or the path.
func (l *Listener) Addr() net.Addr { return l.addr }

// Freeze stops the listener from accepting; others can still connect.
func (l *Listener) Freeze() { l.set(&l.frozen, true) }

// Thaw undoes Freeze.
func (l *Listener) Thaw() { l.set(&l.frozen, false) }

// Hide makes the port or socket appear not to exist yet: it is not listed, and connecting fails.
func (l *Listener) Hide() { l.set(&l.hidden, true) }

// Show undoes Hide.
func (l *Listener) Show() { l.set(&l.hidden, false) }

func (l *Listener) set(flag *bool, on bool) {
	defer l.owner.net.lock()()
	*flag = on
	if _, ok := l.addr.(*net.UnixAddr); ok && flag == &l.hidden && !l.closed {
		l.owner.net.filesChanged()
	}
}

// Close frees the port, or removes the socket's file. Connections not accepted yet are reset.
func (l *Listener) Close() error {
	n := l.owner.net
	defer n.lock()()
	for l.owner.frozen && !l.closed {
		n.changed.Wait()
	}
	if l.closed {
		return net.ErrClosed
	}
	l.closeLocked()
	if a, ok := l.addr.(*net.UnixAddr); ok {
		delete(n.files, a.Name)
		n.filesChanged()
	}
	return nil
}

// closeLocked closes the listener. The network's lock must be held.
func (l *Listener) closeLocked() {
	l.closed = true
	delete(l.owner.listeners, l)
	switch a := l.addr.(type) {
	case *net.TCPAddr:
		delete(l.owner.net.ports, a.Port)
	case *net.UnixAddr:
		l.owner.net.files[a.Name].ln = nil
	}
	for _, c := range l.queue {
		c.abort = true
		c.closeLocked()
	}
	l.queue = nil
}

// connect connects p to l. The network's lock must be held.
func (l *Listener) connect(p *Process) *Conn {
	n := p.net
	series := n.instant(l.addr.String())
	var from net.Addr = &net.UnixAddr{Net: "unix"}
	if _, ok := l.addr.(*net.TCPAddr); ok {
		from = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1).To4(), Port: 32768 + n.dialed%28000}
		n.dialed++
	}
	here, there := newConn(p, from, l.addr, series+">"), newConn(l.owner, l.addr, from, series+"<")
	here.peer, there.peer = there, here
	l.queue = append(l.queue, there)
	return here
}
