package rpcclient

import (
	"slices"
	"time"
)

// opening is a link to a client that is made while the one before still works. So a client has a
// link at every moment, over which it learns of changes and of the end.
type opening struct {
	at     place
	over   Transport
	counts bool
	leave  chan struct{}
	done   chan struct{} // closed at the end, after which the rest may be read
	link   link
	err    error
}

// drop waits for the end of what was begun, and closes it.
func (o *opening) drop() {
	if o == nil {
		return
	}
	<-o.done
	if o.link != nil {
		o.link.close()
	}
}

// improve brings p to a better transport than the one that it is talked to over: to its socket,
// which a client opens after its port, or to what new settings want.
func (c *Client) improve(p *peer) {
	c.mu.Lock()
	held, now := p.held, p.status.Transport
	c.mu.Unlock()
	r := p.run
	better := c.better(p, now)
	switch {
	case r.better != nil:
		c.handOver(p, now)
	case !held && better != "" && !r.reconsider: // nothing is lost
		r.cancel(errMoved)
	case !held || r.improve.After(time.Now()):
	case better != "":
		r.better = c.prepare(p, better)
	case !c.allowed(p, now):
		r.drop()
	default:
		r.reconsider = false
	}
}

// allowed reports whether p may be talked to over the transport. What has vanished from sight may
// still be there: only new settings make a difference.
func (c *Client) allowed(p *peer, over Transport) bool {
	return !p.run.reconsider || slices.Contains(c.opts().Transports, over) && p.offers(over)
}

// better is the transport over which p should be talked to rather than over now; "" is none.
func (c *Client) better(p *peer, now Transport) Transport {
	for _, tr := range c.opts().Transports {
		switch {
		case tr == now && c.allowed(p, now):
			return ""
		case tr == now || !p.offers(tr) || c.refusal(p, tr) != nil:
		case p.run.reconsider || tr == IPC && p.run.at.socket.Path == "":
			return tr
		}
	}
	return ""
}

// prepare begins to make a better link to p.
func (c *Client) prepare(p *peer, over Transport) *opening {
	o := &opening{at: p.place, over: over, leave: make(chan struct{}), done: make(chan struct{})}
	r := p.run
	go func() {
		defer ring(c.ended)
		defer close(o.done)
		var port *proven
		if over != IPC {
			if port, o.err = c.prove(r.ctx, p, o.at); o.err != nil {
				return
			}
			defer port.discard()
		}
		o.counts = over == IPC || port.counts
		release := p.bucket.reserve()
		defer release()
		o.link, o.err = c.open(r.ctx, p, o.at, over, port)
	}()
	return o
}

// handOver has p's session end in favour of the better link, if that has been made.
func (c *Client) handOver(p *peer, now Transport) {
	r, o := p.run, p.run.better
	select {
	case <-o.done:
	default:
		return
	}
	r.better = nil
	if o.err == nil {
		c.mu.Lock()
		p.next = o
		c.mu.Unlock()
		r.end()
		r.at, r.leave, r.reconsider = o.at, o.leave, false
		return
	}
	c.opts().Log.Info("a better transport could not be had", "client", address(o.at, o.over), "reason", o.err, "remedy", Remedy(o.err))
	if lasting(o.err) {
		c.refuse(p, o.over, o.err)
	}
	if !c.allowed(p, now) && !lasting(o.err) {
		r.drop()
		return
	}
	r.improve = time.Now().Add(r.trials.wait())
}

// improvesAt is when a better link to p may be tried again; zero: there is none.
func (c *Client) improvesAt(p *peer) time.Time {
	c.mu.Lock()
	held, now := p.held, p.status.Transport
	c.mu.Unlock()
	if !held || p.run.dropped || p.run.yields || p.run.better != nil || c.better(p, now) == "" {
		return time.Time{}
	}
	return p.run.improve
}

// takeNext returns the link that p is to go on with.
func (c *Client) takeNext(p *peer) *opening {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := p.next
	p.next = nil
	return o
}
