package rpcclient

import (
	"context"
	"slices"
	"time"
)

// connection is a link to a client, and how it came about.
type connection struct {
	link
	at          location
	over        Transport
	counts      bool          // the client may count tokens for it
	endWhenIdle chan struct{} // closed: its session ends as soon as nothing is in flight
}

// pendingLink is a link to a client that is made while the one before still works. So a client has a
// link at every moment, over which it learns of changes and of the end.
type pendingLink struct {
	connection // link and counts may be read once done is closed
	cancel     context.CancelFunc
	done       chan struct{} // closed at the end
	err        error         // may be read then
	outdated   bool          // it was begun under older settings: its failure says nothing of the newer ones
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
	inSession, now := c.transportInUse(p)
	r := p.attempt
	better := c.betterTransport(p, now)
	if o := r.upgrade; o != nil {
		if o.over != better {
			o.cancel()
		}
		select {
		case <-o.done:
		default:
			return
		}
		r.upgrade = nil
		c.handOver(p, o, now, better)
		inSession, now = c.transportInUse(p)
		better = c.betterTransport(p, now)
	}
	switch {
	case r.excluded:
	case !inSession && (better != "" || !c.transportAllowed(p, now)): // nothing is lost
		r.cancel(errReconnect)
	case !inSession || r.nextUpgrade.After(time.Now()):
	case better != "":
		r.upgrade = c.prepareLink(p, better)
	case !c.transportAllowed(p, now):
		r.exclude()
	default:
		r.settingsChanged = false
	}
}

// transportInUse is that over which p is talked to, or is about to be, and whether that has come to a session.
func (c *Client) transportInUse(p *peer) (inSession bool, over Transport) {
	c.locked(func() {
		if inSession, over = p.inSession, p.status.Transport; p.nextLink != nil {
			inSession, over = true, p.nextLink.over
		}
	})
	return inSession, over
}

// transportAllowed reports whether p may be talked to over the transport. Only new settings can forbid
// it: a socket or port that was not found may still be there.
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
		case p.attempt.settingsChanged || tr == IPC && !p.attempt.at.hasSocket():
			return tr
		}
	}
	return ""
}

// prepareLink begins to make a better link to p. No other transport than that one proves the port: the answer to an empty
// list would cost p the list that it has.
func (c *Client) prepareLink(p *peer, over Transport) *pendingLink {
	ctx, cancel := context.WithCancel(p.attempt.ctx)
	o := &pendingLink{
		connection: connection{at: p.location, over: over, endWhenIdle: make(chan struct{})}, cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer c.attemptChanged.Notify()
		defer close(o.done)
		defer cancel()
		o.link, o.counts, o.err = c.openNewLink(ctx, p, o.at, over, []Transport{over})
	}()
	return o
}

// handOver has p's session end in favour of o, a link that has been made, if that is over the better transport.
func (c *Client) handOver(p *peer, o *pendingLink, now, better Transport) {
	r := p.attempt
	switch {
	case o.over != better: // newer settings want another one, or none
		o.close()
	case o.err == nil:
		c.takeNextLink(p).close() // what newer settings have overtaken
		c.locked(func() { p.nextLink = o })
		r.finish()
		r.at, r.endWhenIdle, r.settingsChanged = o.at, o.endWhenIdle, false
	case o.outdated: // it is tried again at once
	default:
		c.opts().Log.Info("a better transport could not be had", "client", o.at.address(o.over), "reason", o.err, remedy(o.err))
		if isPermanent(o.err) {
			c.locked(func() { p.refused[o.over] = o.err })
		} else if !c.transportAllowed(p, now) {
			r.exclude()
		}
		r.nextUpgrade = time.Now().Add(r.upgradeBackoff.wait())
	}
}

// nextUpgrade is when a better link to p may be tried again; zero: there is none.
func (c *Client) nextUpgrade(p *peer) time.Time {
	inSession, now := c.transportInUse(p)
	if !inSession || p.attempt.excluded || p.attempt.yielding || p.attempt.upgrade != nil || c.betterTransport(p, now) == "" {
		return time.Time{}
	}
	return p.attempt.nextUpgrade
}

// takeNextLink returns the link that p is to go on with.
func (c *Client) takeNextLink(p *peer) (o *pendingLink) {
	c.locked(func() { o, p.nextLink = p.nextLink, nil })
	return o
}
