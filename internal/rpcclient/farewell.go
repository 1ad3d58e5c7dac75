package rpcclient

import (
	"context"
	"errors"
	"time"

	"sidetone/internal/devices"
)

// LeaveNothing has the farewell be an empty list, whatever Options.OnExit is or becomes.
func (c *Client) LeaveNothing() { c.cleared.Store(true) }

// onExit is what the farewell leaves in a client.
func (c *Client) onExit() ExitPolicy {
	if c.cleared.Load() {
		return ExitClear
	}
	return c.opts().OnExit
}

// awaitLastLink waits, until ctx ends, for the link to p that is being made: if p holds a list, as the agent stops a moment after it has
// gone on in place of another one, since p might let nobody else connect; and if it is the first one, as the agent before may have been
// killed.
func (c *Client) awaitLastLink(ctx context.Context, p *peer) {
	for {
		changed := c.Changed()
		made := false
		c.locked(func() {
			made = (p.mayHold != nil || !p.met) && p.running && !p.waiting && !p.inSession && p.status.NextTry.IsZero()
		})
		if !made {
			return
		}
		select {
		case <-changed:
		case <-p.attempt.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// farewellWithoutLink does what the policy says with a client that holds a list and has no link when
// the agent stops, since it has just ended its connection, if it can be reached before ctx ends (rule R53).
func (c *Client) farewellWithoutLink(ctx context.Context, p *peer) {
	defer p.dropConn()
	c.awaitSameClient(p)
	var sent *devices.Snapshot
	c.locked(func() { sent = p.mayHold })
	tr := c.lastTransport(p)
	if sent == nil || tr == "" || c.onExit() == ExitLeave || !p.offers(tr) {
		return
	}
	if err := c.farewellOverNewLink(ctx, p, tr, sent); err != nil {
		c.opts().Log.Warn("the client keeps the last list: it could not be reached", "client", p.address(tr), "reason", err)
	}
}

func (c *Client) farewellOverNewLink(ctx context.Context, p *peer, tr Transport, sent *devices.Snapshot) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.bucket.linkDelay(time.Now()) > 0 {
		return errors.New("it lets nobody connect yet")
	}
	l, counts, err := c.openNewLink(ctx, p, p.location, tr, c.portTransports())
	if err != nil {
		return err
	}
	defer l.close()
	s := &session{link: l, mayHold: sent}
	if counts && tr == HTTP {
		s.bucket = p.bucket
	}
	return s.farewell(ctx, c.onExit())
}

// awaitSameClient waits until a client that the port p may belong to has had its farewell over its
// socket: nothing older may be sent over the port after it.
func (c *Client) awaitSameClient(p *peer) {
	for _, q := range c.peers {
		var same bool
		c.locked(func() { same = q.attempt != nil && blocks(p, q) })
		if same {
			<-q.attempt.done
		}
	}
}

// farewell ends the session s of p as the policy says.
func (c *Client) farewell(ctx context.Context, p *peer, s *session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts().StopTimeout)
	defer cancel()
	if err := s.farewell(ctx, c.onExit()); err != nil {
		c.opts().Log.Warn("the client keeps the last list: it could not be changed", "client", s.to, "reason", err)
		return
	}
	c.locked(func() {
		p.mayHold = nil
		c.supersede(p, nil)
	})
}

// supersede notes that p has taken a list, or its farewell if that is nil, in place of what was sent to
// those that may be the same client. A port then needs no farewell beside that of the socket. A socket
// does, in case the port is not its own after all. mu is held.
func (c *Client) supersede(p *peer, list *devices.Snapshot) {
	for _, q := range c.peers {
		switch {
		case maybeSameClient(q, p):
			q.mayHold = nil
		case maybeSameClient(p, q) && q.mayHold != nil && list != nil:
			q.mayHold = list
		}
	}
}
