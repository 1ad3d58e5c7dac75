package rpcclient

import (
	"slices"
	"time"
)

// pendingLink is a link to a client that is made while the one before still works. So a client has a
// link at every moment, over which it learns of changes and of the end.
type pendingLink struct {
	at     location
	over   Transport
	counts bool
	leave  chan struct{}
	done   chan struct{} // closed at the end, after which the rest may be read
	link   link
	err    error
}

// close waits for the end of what was begun, and closes it.
func (o *pendingLink) close() {
	if o == nil {
		return
	}
	<-o.done
	if o.link != nil {
		o.link.close()
	}
}

// upgrade brings p to a better transport than the one that it is talked to over: to its socket,
// which a client opens after its port, or to what new settings want.
func (c *Client) upgrade(p *peer) {
	c.mu.Lock()
	held, now := p.inSession, p.status.Transport
	c.mu.Unlock()
	r := p.attempt
	better := c.betterTransport(p, now)
	switch {
	case r.upgrade != nil:
		c.handOver(p, now)
	case !held && better != "" && !r.settingsChanged: // nothing is lost
		r.cancel(errMoved)
	case !held || r.nextUpgrade.After(time.Now()):
	case better != "":
		r.upgrade = c.prepareLink(p, better)
	case !c.transportAllowed(p, now):
		r.exclude()
	default:
		r.settingsChanged = false
	}
}

// transportAllowed reports whether p may be talked to over the transport. What has vanished from sight may
// still be there: only new settings make a difference.
func (c *Client) transportAllowed(p *peer, over Transport) bool {
	return !p.attempt.settingsChanged || slices.Contains(c.opts().Transports, over) && p.offers(over)
}

// betterTransport is the transport over which p should be talked to rather than over now; "" is none.
func (c *Client) betterTransport(p *peer, now Transport) Transport {
	for _, tr := range c.opts().Transports {
		switch {
		case tr == now && c.transportAllowed(p, now):
			return ""
		case tr == now || !p.offers(tr) || c.refusedWith(p, tr) != nil:
		case p.attempt.settingsChanged || tr == IPC && p.attempt.at.socket.Path == "":
			return tr
		}
	}
	return ""
}

// prepareLink begins to make a better link to p. No other transport than that one proves the port: the answer to an empty
// list would cost p the list that it has.
func (c *Client) prepareLink(p *peer, over Transport) *pendingLink {
	o := &pendingLink{at: p.location, over: over, leave: make(chan struct{}), done: make(chan struct{})}
	r := p.attempt
	go func() {
		defer c.attemptChanged.Notify()
		defer close(o.done)
		var port *provenPort
		if over != IPC {
			if port, o.err = c.prove(r.ctx, p, o.at, []Transport{over}); o.err != nil {
				return
			}
			defer port.close()
		}
		o.counts = over == IPC || port.counts
		release := p.bucket.reserve()
		defer release()
		o.link, o.err = c.openLink(r.ctx, p, o.at, over, port)
	}()
	return o
}

// handOver has p's session end in favour of the better link, if that has been made.
func (c *Client) handOver(p *peer, now Transport) {
	r, o := p.attempt, p.attempt.upgrade
	select {
	case <-o.done:
	default:
		return
	}
	r.upgrade = nil
	if o.err == nil {
		c.takeNextLink(p).close() // what newer settings have overtaken
		c.mu.Lock()
		p.nextLink = o
		c.mu.Unlock()
		r.finish()
		r.at, r.endWhenIdle, r.settingsChanged = o.at, o.leave, false
		return
	}
	c.opts().Log.Info("a better transport could not be had", "client", address(o.at, o.over), "reason", o.err, "remedy", Remedy(o.err))
	if lasting(o.err) {
		c.rememberRefusal(p, o.over, o.err)
	}
	if !c.transportAllowed(p, now) && !lasting(o.err) {
		r.exclude()
		return
	}
	r.nextUpgrade = time.Now().Add(r.upgradeBackoff.wait())
}

// nextUpgrade is when a better link to p may be tried again; zero: there is none.
func (c *Client) nextUpgrade(p *peer) time.Time {
	c.mu.Lock()
	held, now := p.inSession, p.status.Transport
	c.mu.Unlock()
	if !held || p.attempt.excluded || p.attempt.yielding || p.attempt.upgrade != nil || c.betterTransport(p, now) == "" {
		return time.Time{}
	}
	return p.attempt.nextUpgrade
}

// takeNextLink returns the link that p is to go on with.
func (c *Client) takeNextLink(p *peer) *pendingLink {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := p.nextLink
	p.nextLink = nil
	return o
}
