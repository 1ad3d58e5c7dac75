package rpcclient

import (
	"context"
	"slices"
)

// turn waits until p may be talked to. Who had to wait begins anew: what was known of p before
// may be hours old.
func (c *Client) turn(ctx context.Context, p *peer, to Address) error {
	return c.await(ctx, p, func() bool { return c.mayTalk(p) }, func() {
		if p.status.State != Waiting {
			p.status = Session{
				State: next(p.status.State, onHeldUp).to, Address: to, Remedy: "nothing to do: another client is served, or this may be the same one",
			}
		}
	})
}

// await waits until p may go on. It says so by held, and wakes nobody: for the others nothing
// changes. Both functions are called with mu held.
func (c *Client) await(ctx context.Context, p *peer, may func() bool, held func()) error {
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

// seclude waits until a port that has not given the free proof may be asked for another one, which
// a client could take for the word of its vendor: never while it may belong to a client that is
// served over its socket (rule R76). It is no session yet, and is not shown as one.
func (c *Client) seclude(ctx context.Context, p *peer) error {
	return c.await(ctx, p, func() bool {
		p.asked = !slices.ContainsFunc(c.peers, func(q *peer) bool { return mayBe(p, q) })
		return p.asked
	}, func() {})
}

// mayTalk is asked with mu held, and gives p the turn. FirstClient lets one client talk, the first
// of the order that can be talked to. Otherwise only a port that may belong to a client which is
// talked to over its socket has to wait (rule R76).
func (c *Client) mayTalk(p *peer) bool {
	before := true
	for _, q := range c.peers {
		switch {
		case q == p:
			before = false
		case c.opts().Clients == FirstClient && (q.talking || (before && q.running && !q.late)), mayBe(p, q):
			if p.talking { // somebody may wait for its silence
				p.talking = false
				c.wakeAll()
			}
			return false
		}
	}
	p.talking = true
	return true
}

// mayBe reports whether the port p may be that of the client q, which is talked to over its
// socket. One that has not answered yet may do so at any moment, and then a list in its line over
// HTTP would be taken after a newer one. mu is held.
func mayBe(p, q *peer) bool {
	return q.running && !q.ignorant && akin(p, q)
}

// akin reports whether the port p may be that of the client with the socket q. mu is held.
func akin(p, q *peer) bool {
	return p != q && p.portAlone && q.socketAlone && !unlike(p.who, q.who, p.lineage, q.lineage)
}

// surplus reports whether p talks beside another one, since only the first is wanted now.
func (c *Client) surplus(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := slices.IndexFunc(c.peers, func(q *peer) bool { return q.talking })
	return c.opts().Clients == FirstClient && p.talking && c.peers[first] != p
}

// mustYield reports whether p talks although it no longer may: since it began, a client has
// greeted that may be the same one.
func (c *Client) mustYield(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (p.talking || p.asked) && slices.ContainsFunc(c.peers, func(q *peer) bool { return q.greeted && mayBe(p, q) })
}

// precede has those ports fall silent that may belong to p, a client that has greeted over its
// socket, and waits for that: a list in flight must not arrive after what p is sent.
func (c *Client) precede(ctx context.Context, p *peer, l link) error {
	for {
		c.mu.Lock()
		changed, first := c.changed, !p.greeted
		p.greeted = true
		busy := slices.ContainsFunc(c.peers, func(q *peer) bool { return (q.talking || q.asked) && mayBe(q, p) })
		c.mu.Unlock()
		if !busy {
			return nil
		}
		if first {
			ring(c.ended)
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

// relate says anew which ports and sockets may belong together, after a look.
func (c *Client) relate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := false
	for _, p := range c.peers {
		socket, port := p.socket.Path != "", p.port.Port != 0
		if p.run != nil { // it may go on over what has vanished
			socket, port = socket || p.run.at.socket.Path != "", port || p.run.at.port.Port != 0
		}
		news = news || p.portAlone != (port && !socket) || p.socketAlone != (socket && !port)
		p.portAlone, p.socketAlone = port && !socket, socket && !port
		if p.who != p.PID {
			p.who, p.lineage = p.PID, c.opts().Local.LineageOf(p.PID)
		}
	}
	if news {
		c.wakeAll()
	}
}
