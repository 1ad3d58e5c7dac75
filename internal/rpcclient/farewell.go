package rpcclient

import (
	"context"
	"errors"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/session"
)

// LeaveWith makes the farewell what policy says, whatever Options.OnExit is or becomes.
func (c *Client) LeaveWith(policy ExitPolicy) { c.leaveWith.Store(&policy) }

// onExit returns what the farewell leaves in a client.
func (c *Client) onExit() ExitPolicy {
	if policy := c.leaveWith.Load(); policy != nil {
		return *policy
	}
	return c.opts().OnExit
}

// ConnectDelay returns how long to wait until the next agent can connect to all clients at once, because each has a token for that. Clients
// that have answered before and are being connected to come first.
func (c *Client) ConnectDelay() (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		switch tr := p.status.Transport; {
		case p.running && !p.inSession && p.lastTransport != "" && p.status.State == Connecting,
			p.probing && !p.probeIsSlow && !p.inSession, // giving up would cost a token as well, and in the next case
			p.inSession && tr == HTTP && p.status.State == Connecting:
			wait = max(wait, retryFirst)
		case p.inSession && p.linkMayCost:
			wait = max(wait, p.bucket.LinkDelay(time.Now()), c.sharedDelay(p, time.Now()))
		}
	}
	return wait
}

// sharedDelay returns how long to wait for a token of p if the peers that may be the same client are: then all of them
// have spent tokens of one client. mu is held.
func (c *Client) sharedDelay(p *peer, now time.Time) time.Duration {
	spent, next := p.bucket.Outstanding(now)
	for _, q := range c.peers {
		if maybeSameClient(p, q) || maybeSameClient(q, p) {
			n, again := q.bucket.Outstanding(now)
			spent, next = spent+n, max(next, again)
		}
	}
	if spent < c.opts().Tokens {
		return 0
	}
	return next
}

// awaitLastLink waits, until ctx ends, while a link to p is being made. It does so if p holds a list, because p might let no other link
// in: the agent may be stopping just after it took over from another one. It also does so for the first link, because an agent that
// was killed may have left p a list.
func (c *Client) awaitLastLink(ctx context.Context, p *peer) {
	err := c.waitFor(ctx, p.attempt.done, func() bool {
		wanted := p.mayHold != nil || !p.hadSession
		return !wanted || !p.running || p.waiting || p.inSession || !p.status.NextTry.IsZero()
	})
	if ctx.Err() != nil && err != nil && read(c, func() bool { return p.mayHold == nil }) { // else farewellWithoutLink says so
		c.keepsList("the client may keep a list of the agent before: it could not be reached", p.address(""), err)
	}
}

// keepsList notes that a client has not taken the farewell.
func (c *Client) keepsList(says string, who Address, reason error) {
	c.kept.Add(1)
	c.opts().Log.Warn(says, "client", who, "reason", reason)
}

// KeepLists returns how many clients have not taken the farewell.
func (c *Client) KeepLists() int { return int(c.kept.Load()) }

// farewellWithoutLink sends the farewell to a client that holds a list and has no link when the agent
// stops, because it has just closed its connection, if it can be reached before ctx ends (rule R53).
func (c *Client) farewellWithoutLink(ctx context.Context, p *peer) {
	defer p.dropConn()
	c.awaitSameClient(p)
	sent, tr := read(c, func() *devices.Snapshot { return p.mayHold }), c.lastTransport(p)
	if sent == nil || tr == "" || c.onExit() == ExitLeave || !p.offers(tr) {
		return
	}
	if err := c.farewellOverNewLink(ctx, p, tr, sent); err != nil {
		c.keepsList("the client keeps the last list: it could not be reached", p.address(tr), err)
	}
}

func (c *Client) farewellOverNewLink(ctx context.Context, p *peer, tr Transport, sent *devices.Snapshot) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.bucket.LinkDelay(time.Now()) > 0 {
		return errors.New("it accepts no connection yet")
	}
	conn := connection{at: p.location, over: tr}
	if err := c.openNewLink(ctx, p, &conn, c.portTransports()); err != nil {
		return err
	}
	defer conn.Close()
	s := session.New(session.Options{Link: conn.Link, MayHold: sent})
	if conn.counts && tr == HTTP {
		s.Bucket = p.bucket
	}
	err := s.Farewell(ctx, c.onExit())
	c.memory.add(c.keyOf(p, p.location), p.bucket.Full())
	return err
}

// awaitSameClient waits until a client that the port p may belong to has got its farewell over its
// socket: nothing older may be sent over the port after that.
func (c *Client) awaitSameClient(p *peer) {
	for _, q := range c.peers {
		if read(c, func() bool { return q.attempt != nil && blocks(p, q) }) {
			<-q.attempt.done
		}
	}
}

// farewell sends p the farewell over its session s. A mute never stays in a client that the settings leave out, because nobody would watch
// it while the agent goes on.
func (c *Client) farewell(ctx context.Context, p *peer, to Address, s *session.Session) {
	within, silent := c.opts().StopTimeout, s.IsSilent()
	if silent { // it does not know the command, as far as is known: an answer is not worth waiting for
		within = min(within, session.PromptAnswer)
	}
	leave, excluded := c.onExit(), errors.Is(context.Cause(ctx), errExcluded)
	if excluded && leave == ExitLeave {
		leave = ExitUnmute
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	switch err := s.Farewell(ctx, leave); {
	case err != nil && silent:
		return
	case err != nil:
		c.keepsList("the client keeps the last list: it could not be changed", to, err)
		return
	}
	c.locked(func() {
		p.mayHold = nil
		c.supersede(p, nil)
	})
	if excluded { // there may be another session with the same client
		c.resendOthers(p)
	}
}

// mayHold returns the last list that p was sent, or else one that was sent to a peer that may be the same client, and has not refused; nil:
// none. mu is held.
func (c *Client) mayHold(p *peer) *devices.Snapshot {
	if p.mayHold != nil {
		return p.mayHold
	}
	for _, q := range c.peers {
		if q.mayHold != nil && (maybeSameClient(p, q) || maybeSameClient(q, p)) {
			return q.mayHold
		}
	}
	return nil
}

// supersede notes that p has taken a list, or the farewell if list is nil. That replaces what was sent to
// peers that may be the same client: a port then needs no farewell of its own. A socket still does, in
// case the port is not its own after all. mu is held.
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
