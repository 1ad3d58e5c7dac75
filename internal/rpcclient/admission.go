package rpcclient

import (
	"context"
	"slices"
)

// waitForAdmission waits until p may be talked to. Who had to wait begins anew: what was known of p before
// may be hours old.
func (c *Client) waitForAdmission(ctx context.Context, p *peer, to Address) error {
	return c.waitUntil(ctx, p, func() bool { return c.admit(p) }, func() {
		if p.status.State != Waiting {
			p.status = Session{
				State: next(p.status.State, onMustWait).to, Address: to, Remedy: "nothing to do: another client is served, or this may be the same one",
			}
		}
	})
}

// waitUntil waits until p may go on. It says so by held, and wakes nobody: for the others nothing
// changes. Both functions are called with mu held.
func (c *Client) waitUntil(ctx context.Context, p *peer, may func() bool, held func()) error {
	for waited := false; ; waited = true {
		c.mu.Lock()
		ok, changed := may(), c.changed
		if !ok {
			held()
		}
		c.mu.Unlock()
		switch {
		case ok && waited:
			return errMoved
		case ok:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// waitToProbe waits until a port that has not given the free proof may be asked for another one, which
// a client could take for the word of its vendor: never while it may belong to a client that is
// served over its socket (rule R76). It is no session yet, and is not shown as one.
func (c *Client) waitToProbe(ctx context.Context, p *peer) error {
	return c.waitUntil(ctx, p, func() bool {
		p.probing = !slices.ContainsFunc(c.peers, func(q *peer) bool { return blocks(p, q) })
		return p.probing
	}, func() {})
}

// admit is asked with mu held, and gives p the turn. FirstClient lets one client talk, the first
// of the order that can be talked to. Otherwise only a port that may belong to a client which is
// talked to over its socket has to wait (rule R76).
func (c *Client) admit(p *peer) bool {
	before := true
	for _, q := range c.peers {
		switch {
		case q == p:
			before = false
		case c.opts().Clients == FirstClient && (q.admitted || (before && q.running && !q.probeIsSlow)), blocks(p, q):
			if p.admitted { // somebody may wait for its silence
				p.admitted = false
				c.notifyAll()
			}
			return false
		}
	}
	p.admitted = true
	return true
}

// blocks reports whether the port p may be that of the client q, which is talked to over its
// socket. One that has not answered yet may do so at any moment, and then a list in its line over
// HTTP would be taken after a newer one. mu is held.
func blocks(p, q *peer) bool {
	return q.running && !q.commandUnknown && maybeSameClient(p, q)
}

// maybeSameClient reports whether the port p may be that of the client with the socket q. mu is held.
func maybeSameClient(p, q *peer) bool {
	return p != q && p.portOnly && q.socketOnly && !unrelated(p.lineagePID, q.lineagePID, p.lineage, q.lineage)
}

// surplus reports whether p talks beside another one, since only the first is wanted now.
func (c *Client) surplus(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := slices.IndexFunc(c.peers, func(q *peer) bool { return q.admitted })
	return c.opts().Clients == FirstClient && p.admitted && c.peers[first] != p
}

// mustYield reports whether p talks although it no longer may: since it began, a client has
// greeted that may be the same one.
func (c *Client) mustYield(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (p.admitted || p.probing) && slices.ContainsFunc(c.peers, func(q *peer) bool { return q.greeted && blocks(p, q) })
}

// waitForPorts has those ports fall silent that may belong to p, a client that has greeted over its
// socket, and waits for that: a list in flight must not arrive after what p is sent.
func (c *Client) waitForPorts(ctx context.Context, p *peer, l link) error {
	for {
		c.mu.Lock()
		changed, first := c.changed, !p.greeted
		p.greeted = true
		busy := slices.ContainsFunc(c.peers, func(q *peer) bool { return (q.admitted || q.probing) && blocks(q, p) })
		c.mu.Unlock()
		if !busy {
			return nil
		}
		if first {
			c.attemptChanged.Notify()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.lost():
			return l.cause()
		case <-changed:
		}
	}
}

// updateKinship says anew which ports and sockets may belong together, after a look.
func (c *Client) updateKinship() {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := false
	for _, p := range c.peers {
		socket, port := p.socket.Path != "", p.port.Port != 0
		if p.attempt != nil { // it may go on over what has vanished
			socket, port = socket || p.attempt.at.socket.Path != "", port || p.attempt.at.port.Port != 0
		}
		news = news || p.portOnly != (port && !socket) || p.socketOnly != (socket && !port)
		p.portOnly, p.socketOnly = port && !socket, socket && !port
		if p.lineagePID != p.PID {
			p.lineagePID, p.lineage = p.PID, c.opts().Local.LineageOf(p.PID)
		}
	}
	if news {
		c.notifyAll()
	}
}
