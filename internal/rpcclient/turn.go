package rpcclient

import (
	"context"
	"slices"
)

// turn waits until p may be talked to. Who had to wait begins anew: what was known of p before
// may be hours old.
func (c *Client) turn(ctx context.Context, p *peer, to Address) error {
	for waited := false; ; waited = true {
		c.mu.Lock()
		ok, changed := c.allowed(p), c.changed
		p.talking = ok && !waited
		c.mu.Unlock()
		switch {
		case ok && waited:
			return errMoved
		case ok:
			return nil
		}
		c.wait(p, to)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// wait says in the status that p has to wait. It wakes nobody: for the others nothing changes.
func (c *Client) wait(p *peer, to Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.status.State != Waiting {
		p.status = Session{State: Waiting, Address: to, Remedy: "nothing to do: another client is served, or this may be the same one"}
	}
}

// allowed is asked with mu held. FirstClient lets one client talk, the first of the order that
// can be talked to. Otherwise only a port of which nobody knows the process has to wait: it may
// belong to a client that is talked to over its socket (rule R76).
func (c *Client) allowed(p *peer) bool {
	before := true
	for _, q := range c.peers {
		switch {
		case q == p:
			before = false
		case c.opts.Clients == FirstClient && (q.talking || (before && q.running)):
			return false
		case p.ownerUnknown && q.socketAlone && q.running && q.status.State != Unsupported:
			return false
		}
	}
	return true
}

// mustYield reports whether p talks although it no longer may: since it began, a client has
// appeared that may be the same one.
func (c *Client) mustYield(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.ownerUnknown && p.talking && slices.ContainsFunc(c.peers, func(q *peer) bool {
		return q.socketAlone && q.talking && (q.status.State == Ready || q.status.State == Degraded)
	})
}
