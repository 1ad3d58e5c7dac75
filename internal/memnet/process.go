package memnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"syscall"
	"time"

	"sidetone/internal/local"
)

// Process is a simulated process, which listens (it implements fakeserver's Network) and connects.
type Process struct {
	local.Process
	net *Network

	// Guarded by net.mu.
	frozen, killed bool
	conns          map[*Conn]struct{}
	listeners      map[*Listener]struct{}
}

// Process starts a process.
func (n *Network) Process(who local.Process) *Process {
	return &Process{Process: who, net: n, conns: make(map[*Conn]struct{}), listeners: make(map[*Listener]struct{})}
}

// Freeze stops the process as SIGSTOP does, as far as its sockets go: it accepts, reads, writes and closes
// nothing, while others can still connect and fill its buffers.
func (p *Process) Freeze() { p.freeze(true) }

// Thaw undoes Freeze. With delays, each connection and listener thaws at a different instant, and
// connections before listeners.
func (p *Process) Thaw() { p.freeze(false) }

func (p *Process) freeze(on bool) {
	defer p.net.lock()()
	if p.frozen && !on && p.net.opts.Delay != nil {
		var last time.Duration
		for c := range p.conns {
			c.frozen = true
			wait := p.net.delay("thaw "+c.series, 1)
			last = max(last, wait)
			time.AfterFunc(wait, c.Thaw)
		}
		for l := range p.listeners {
			l.frozen = true
			time.AfterFunc(last+p.net.delay("thaw "+l.addr.String(), 1), l.Thaw)
		}
	}
	p.frozen = on
}

// Kill ends the process as SIGKILL does: its sockets are closed, and its socket files stay. All later
// calls on its sockets fail, so that its goroutines end.
func (p *Process) Kill() {
	defer p.net.lock()()
	p.killed = true
	for l := range p.listeners {
		l.closeLocked()
	}
	for c := range p.conns {
		c.closeLocked()
	}
}

// ListenPort binds the first free port of the list; 0 means any.
func (p *Process) ListenPort(ports []int) (net.Listener, int, error) {
	defer p.net.lock()()
	if p.killed {
		return nil, 0, net.ErrClosed
	}
	for _, port := range ports {
		for any := 20000; port == 0; any++ {
			if p.net.ports[any] == nil {
				port = any
			}
		}
		if p.net.ports[port] == nil {
			l := p.listen(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1).To4(), Port: port})
			p.net.ports[port] = l
			return l, port, nil
		}
	}
	return nil, 0, fmt.Errorf("none of the ports %v is free: %w", ports, syscall.EADDRINUSE)
}

// ListenIPC binds the first free socket of discord-ipc-0..9 in the folder.
func (p *Process) ListenIPC(dir string) (net.Listener, string, error) {
	for slot := range 10 {
		name := path.Join(dir, fmt.Sprintf("discord-ipc-%d", slot))
		l, err := p.ReopenIPC(name)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, name, err
		}
	}
	return nil, "", fmt.Errorf("none of discord-ipc-0 to -9 in %s is free: %w", dir, syscall.EADDRINUSE)
}

// ReopenIPC binds the socket with that path. A file without a listener is replaced.
func (p *Process) ReopenIPC(name string) (net.Listener, error) {
	defer p.net.lock()()
	if p.killed {
		return nil, net.ErrClosed
	}
	if f := p.net.files[name]; f != nil && f.ln != nil {
		return nil, fmt.Errorf("listen on %s: %w", name, syscall.EADDRINUSE)
	}
	l := p.listen(&net.UnixAddr{Net: "unix", Name: name})
	p.net.files[name] = &file{id: fmt.Sprint("file ", p.net.newID()), ln: l}
	p.net.filesChanged()
	return l, nil
}

// listen adds a listener. net.mu must be held.
func (p *Process) listen(addr net.Addr) *Listener {
	l := &Listener{owner: p, addr: addr, id: p.net.newID()}
	p.listeners[l] = struct{}{}
	return l
}

// DialPort connects to a port. As with the kernel, it succeeds before the connection is accepted, and
// waits while the backlog is full.
func (p *Process) DialPort(ctx context.Context, port int) (net.Conn, error) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1).To4(), Port: port}
	c, err := p.dial(ctx, addr, func() *Listener { return p.net.ports[port] })
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
	}
	return c, nil
}

// DialIPC connects to a socket and returns the listening process. As with the kernel, it fails at once
// with EAGAIN while the backlog is full.
func (p *Process) DialIPC(ctx context.Context, name string) (net.Conn, local.Process, error) {
	addr := &net.UnixAddr{Net: "unix", Name: name}
	found := false
	c, err := p.dial(ctx, addr, func() *Listener {
		f := p.net.files[name]
		found = f != nil && (f.ln == nil || !f.ln.hidden)
		if !found {
			return nil
		}
		return f.ln
	})
	if err != nil {
		if !found && errors.Is(err, syscall.ECONNREFUSED) {
			err = syscall.ENOENT
		}
		return nil, local.Process{}, &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
	}
	return c, c.peer.owner.Process, nil
}

// dial connects to the listener that find, called with net.mu held, returns.
func (p *Process) dial(ctx context.Context, addr net.Addr, find func() *Listener) (*Conn, error) {
	n := p.net
	if wait := n.delay(n.instant("connect "+addr.String()), 1); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	defer context.AfterFunc(ctx, n.wake)()
	defer n.lock()()
	for ; ; n.changed.Wait() {
		switch l := find(); {
		case p.killed:
			return nil, net.ErrClosed
		case p.frozen:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case l == nil || l.hidden || l.closed:
			return nil, syscall.ECONNREFUSED
		case len(l.queue) < n.opts.Backlog:
			return l.connect(p), nil
		case addr.Network() == "unix":
			return nil, syscall.EAGAIN
		}
	}
}
