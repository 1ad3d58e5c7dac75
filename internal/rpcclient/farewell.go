package rpcclient

import (
	"context"
	"time"

	"sidetone/internal/devices"
)

// farewellWithoutLink does what the policy says to a client that has a list and no link at the end, as one
// that has just ended its connection, if it can be reached before ctx ends (rule R53).
func (c *Client) farewellWithoutLink(ctx context.Context, p *peer) {
	defer p.dropConn()
	c.awaitSameClient(p)
	c.mu.Lock()
	sent := p.mayHold
	c.mu.Unlock()
	tr := c.lastTransport(p)
	if sent == nil || tr == "" || c.opts().OnExit == ExitLeave || ctx.Err() != nil || !p.offers(tr) || p.bucket.linkDelay(time.Now()) > 0 {
		return
	}
	l, counts, err := c.farewellLink(ctx, p, tr)
	if err == nil {
		defer l.close()
		s := &session{link: l, mayHold: sent}
		if counts && tr == HTTP {
			s.bucket = p.bucket
		}
		err = s.farewell(ctx, c.opts().OnExit)
	}
	if err != nil {
		c.opts().Log.Warn("the client keeps the last list: it could not be reached", "client", address(p.location, tr), "reason", err)
	}
}

func (c *Client) farewellLink(ctx context.Context, p *peer, tr Transport) (l link, counts bool, err error) {
	var port *provenPort
	counts = true
	if tr != IPC {
		if port, err = c.prove(ctx, p, p.location, c.portTransports()); err != nil {
			return nil, false, err
		}
		defer port.close()
		counts = port.counts
	}
	l, err = c.openLink(ctx, p, p.location, tr, port)
	return l, counts, err
}

// awaitSameClient waits until the client with a socket that the port p may belong to has had its farewell,
// which the last word of the port must not follow.
func (c *Client) awaitSameClient(p *peer) {
	for _, q := range c.peers {
		c.mu.Lock()
		wait := q.attempt != nil && blocks(p, q)
		c.mu.Unlock()
		if wait {
			<-q.attempt.done
		}
	}
}

// setMayHold notes what p may have after a session.
func (c *Client) setMayHold(p *peer, sent *devices.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.mayHold = sent
}

// farewellDone notes that p has had its farewell.
func (c *Client) farewellDone(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.mayHold = nil
	c.supersede(p, nil)
}

// supersede notes that p has taken a list, or its farewell if that is nil, instead of what those were
// sent that may be the same client. A port needs no last word beside its socket. A socket does, in
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
