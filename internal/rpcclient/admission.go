package rpcclient

import (
	"context"
	"errors"
	"slices"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/rpcclient/link"
)

// waitFor waits until done returns true. It calls done at once and after each change of the status, with mu held. It returns an
// error when ctx ends, and link.ErrLost when lost is closed.
func (c *Client) waitFor(ctx context.Context, lost <-chan struct{}, done func() bool) error {
	for {
		var ok bool
		var changed <-chan struct{}
		c.locked(func() { ok = done(); changed = c.changed }) // in this order: done may call notifyAll
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-lost:
			return link.ErrLost
		case <-changed:
		}
	}
}

// waitForAdmission waits until p may be talked to.
func (c *Client) waitForAdmission(ctx context.Context, p *peer, to Address) error {
	return c.waitForTurn(ctx, p, func() bool {
		if c.admit(p) {
			return true
		}
		if p.status.State != Waiting {
			p.status = Session{
				State: transitions.After(p.status.State, onMustWait).To, Address: to,
				Reason: &health.Condition{Code: health.ClientHeldBack, Severity: health.Info},
			}
		}
		return false
	})
}

// waitForTurn waits until an attempt may go on. One that had to wait ends with errReconnect and starts again, because what it knows of p
// may be hours old. may is called with mu held. Only the first refusal notifies others: code that ends all attempts does not wait
// for one that is waiting.
func (c *Client) waitForTurn(ctx context.Context, p *peer, may func() bool) error {
	waited := false
	err := c.waitFor(ctx, nil, func() bool {
		ok := may()
		if waited = p.waiting; !ok && !waited {
			p.waiting = true
			c.notifyAll()
		}
		return ok
	})
	if err == nil && waited {
		return errReconnect
	}
	return err
}

// waitToProbe waits until a port that has not given the free proof may be asked for another one. A
// client could take that for its vendor's list, so it is not sent while the port may belong to a
// client that is served over its socket (rule R76). There is no session yet, and none is shown.
func (c *Client) waitToProbe(ctx context.Context, p *peer) error {
	return c.waitForTurn(ctx, p, func() bool {
		p.probing = !slices.ContainsFunc(c.peers, func(q *peer) bool { return blocks(p, q) })
		return p.probing
	})
}

// admit reports whether p may be talked to, and notes that in p.admitted. With FirstClient only one client
// may be, the first one that can. Otherwise all may be, except a port that may belong to a client which
// is talked to over its socket (rule R76). mu is held.
func (c *Client) admit(p *peer) bool {
	before := true
	for _, q := range c.peers {
		switch {
		case q == p:
			before = false
		case c.opts().Clients == FirstClient && goesFirst(q, p, before), blocks(p, q):
			if p.admitted { // others may wait for that to end
				p.admitted = false
				c.notifyAll()
			}
			return false
		}
	}
	p.admitted = true
	return true
}

// goesFirst reports whether q is to be talked to rather than p, if only one of them may be. before: q comes before p in the order of a
// search. One that was silent comes after all others. mu is held.
func goesFirst(q, p *peer, before bool) bool {
	switch {
	case q.admitted:
		return true
	case p.admitted, !q.running, q.probeIsSlow:
		return false
	case q.silent != p.silent:
		return p.silent
	}
	return before
}

// blocks reports whether the port p may not be talked to because it may belong to the client q, which
// is talked to over its socket. That holds even before q has answered: it may do so at any moment, and
// could take a list from its HTTP queue after a newer one. mu is held.
func blocks(p, q *peer) bool { return q.running && !q.commandUnknown && maybeSameClient(p, q) }

// maybeSameClient reports whether the port p may belong to the client with the socket q. mu is held.
func maybeSameClient(p, q *peer) bool {
	return p != q && p.portOnly && q.socketOnly && !unrelated(p.lineagePID, q.lineagePID, p.lineage, q.lineage)
}

// isSurplus reports whether p is talked to although only one client may be, and it is not the first such client, as after a change of
// the settings, or is silent while another one waits for its turn.
func (c *Client) isSurplus(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts().Clients != FirstClient || !p.admitted {
		return false
	}
	first := slices.IndexFunc(c.peers, func(q *peer) bool { return q.admitted })
	return c.peers[first] != p || p.silent && slices.ContainsFunc(c.peers, func(q *peer) bool {
		return q.waiting && !q.silent && !blocks(q, p)
	})
}

// mustYield reports whether the port p is talked to although a client that may be the same one has sent
// READY over its socket since.
func (c *Client) mustYield(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (p.admitted || p.probing) && slices.ContainsFunc(c.peers, func(q *peer) bool { return q.greeted && blocks(p, q) })
}

// waitForPorts ends the attempts with ports that may belong to p, a client that has sent READY over
// its socket, and waits until they have ended: a list in flight must not arrive after what p is sent.
func (c *Client) waitForPorts(ctx context.Context, p *peer, l link.Link) error {
	err := c.waitFor(ctx, l.Lost(), func() bool {
		first := !p.greeted
		p.greeted = true
		busy := slices.ContainsFunc(c.peers, func(q *peer) bool { return (q.admitted || q.probing) && blocks(q, p) })
		if busy && first {
			c.attemptChanged.Notify()
		}
		return !busy
	})
	if errors.Is(err, link.ErrLost) {
		return l.Cause()
	}
	return err
}

// updateRelations updates, after a scan, what decides which ports and sockets may belong together.
func (c *Client) updateRelations() {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := false
	var opened []*peer
	for _, p := range c.peers {
		socket, port := p.hasSocket(), p.hasPort()
		if p.attempt != nil { // it may go on although the scan missed its socket or port
			socket, port = socket || p.attempt.at.hasSocket(), port || p.attempt.at.hasPort()
		}
		portOnly, socketOnly := port && !socket, socket && !port
		news = news || p.portOnly != portOnly || p.socketOnly != socketOnly
		if portOnly && !p.portOnly {
			opened = append(opened, p)
		}
		p.portOnly, p.socketOnly = portOnly, socketOnly
		if p.lineagePID != p.PID {
			p.lineagePID, p.lineage = p.PID, c.opts().Local.LineageOf(p.PID)
		}
	}
	c.retryBehind(opened)
	if news {
		c.notifyAll()
	}
}

// retryBehind tries sockets again that may belong to clients which have opened their ports: each may be behind its relay now, which is the
// better way to it. mu is held.
func (c *Client) retryBehind(opened []*peer) {
	for _, q := range c.peers {
		if !q.unheardSince.IsZero() && slices.ContainsFunc(opened, func(p *peer) bool { return maybeSameClient(p, q) }) {
			q.nextTry = time.Time{}
		}
	}
}
