package rpcclient

import (
	"context"
	"slices"
	"time"

	"sidetone/internal/rpcclient/link"
)

// connection is a link to a client and how it was made.
type connection struct {
	link.Link   // set by openLink, like counts and answered
	at          location
	over        Transport
	counts      bool            // the client may count tokens for it
	answered    bool            // it has answered the command: that was the proof of its port
	endWhenIdle context.Context // at its end the session ends as soon as nothing is in flight
}

// pendingLink is a link to a client that is opened while the present one still works. So a client always
// has a link, over which it learns of changes and gets the farewell.
type pendingLink struct {
	connection // Link, counts and answered may be read once done is closed
	cancel     context.CancelFunc
	finish     context.CancelFunc // ends endWhenIdle
	done       chan struct{}
	err        error // may be read once done is closed
	outdated   bool  // opened under older settings: its failure says nothing about the newer ones
}

// close waits until the link is open or has failed, and closes it.
func (o *pendingLink) Close() {
	if o == nil {
		return
	}
	<-o.done
	if o.Link != nil {
		o.Link.Close()
	}
}

// upgrade moves p to a better transport than the one in use: to its socket, if that was found after its
// port, or to what new settings want.
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

// transportInUse returns the transport over which p is talked to, or is about to be, and whether there is a session on it.
func (c *Client) transportInUse(p *peer) (inSession bool, over Transport) {
	c.locked(func() {
		if inSession, over = p.inSession, p.status.Transport; p.nextLink != nil {
			inSession, over = true, p.nextLink.over
		}
	})
	return inSession, over
}

// transportAllowed reports whether p may be talked to over the transport in use. Only new settings can
// forbid it: a socket or port that was not found may still be there.
func (c *Client) transportAllowed(p *peer, over Transport) bool {
	return !p.attempt.settingsChanged || slices.Contains(c.opts().Transports, over) && p.offers(over)
}

// betterTransport returns the transport that p should be talked to over instead of now; "": none.
func (c *Client) betterTransport(p *peer, now Transport) Transport {
	for _, tr := range c.opts().Transports {
		switch {
		case tr == now && c.transportAllowed(p, now):
			return ""
		case tr == now || !p.offers(tr) || c.refusedWith(p, tr) != nil:
		case p.attempt.settingsChanged, tr == IPC && (!p.attempt.at.hasSocket() || c.stateOf(p) == Unsupported):
			return tr
		}
	}
	return ""
}

// prepareLink starts opening a better link to p. The port is proved over that transport only: a proof by an empty list would cost p
// the list that it has.
func (c *Client) prepareLink(p *peer, over Transport) *pendingLink {
	ctx, cancel := context.WithCancel(p.attempt.ctx)
	endWhenIdle, finish := context.WithCancel(context.Background())
	o := &pendingLink{
		connection: connection{at: p.location, over: over, endWhenIdle: endWhenIdle}, cancel: cancel, finish: finish, done: make(chan struct{}),
	}
	go func() {
		defer c.attemptChanged.Notify()
		defer close(o.done)
		defer cancel()
		o.err = c.openNewLink(ctx, p, &o.connection, []Transport{over})
	}()
	return o
}

// handOver ends p's session in favour of o, which is open or has failed, if that is still over the better transport.
func (c *Client) handOver(p *peer, o *pendingLink, now, better Transport) {
	r := p.attempt
	switch {
	case o.over != better: // newer settings want another transport, or none
		o.Close()
	case o.err == nil:
		c.takeNextLink(p).Close() // newer settings have replaced it
		c.locked(func() { p.nextLink = o })
		r.finish()
		r.at, r.finish, r.settingsChanged = o.at, o.finish, false
	case o.outdated: // it is retried at once
	default:
		c.opts().Log.Info("could not switch to a better transport", "client", o.at.address(o.over), "reason", o.err, remedy(o.err))
		if isPermanent(o.err) {
			c.locked(func() { p.refused[o.over] = o.err })
		} else if !c.transportAllowed(p, now) {
			r.exclude()
		}
		r.nextUpgrade = time.Now().Add(r.upgradeBackoff.Wait())
	}
}

// nextUpgrade returns when a better link to p may be tried again; zero: there is none.
func (c *Client) nextUpgrade(p *peer) time.Time {
	inSession, now := c.transportInUse(p)
	if !inSession || p.attempt.excluded || p.attempt.yielding || p.attempt.upgrade != nil || c.betterTransport(p, now) == "" {
		return time.Time{}
	}
	return p.attempt.nextUpgrade
}

// takeNextLink returns the link that p's next session uses; nil: none.
func (c *Client) takeNextLink(p *peer) (o *pendingLink) {
	c.locked(func() { o, p.nextLink = p.nextLink, nil })
	return o
}
