package rpcclient

import (
	"context"
	"time"

	"sidetone/internal/devices"
)

// lastWord does what the policy says to a client that has a list and no link at the end, as one
// that has just ended its connection, if it can be reached before ctx ends (rule R53).
func (c *Client) lastWord(ctx context.Context, p *peer) {
	defer p.dropConn()
	c.awaitAkin(p)
	c.mu.Lock()
	sent := p.sent
	c.mu.Unlock()
	tr := c.workedOver(p)
	if sent == nil || tr == "" || c.opts().OnExit == ExitLeave || ctx.Err() != nil || !p.offers(tr) || p.bucket.linkDelay(time.Now()) > 0 {
		return
	}
	l, counts, err := c.lastLink(ctx, p, tr)
	if err == nil {
		defer l.close()
		s := &session{link: l, sent: sent}
		if counts && tr == HTTP {
			s.bucket = p.bucket
		}
		err = s.farewell(ctx, c.opts().OnExit)
	}
	if err != nil {
		c.opts().Log.Warn("the client keeps the last list: it could not be reached", "client", address(p.place, tr), "reason", err)
	}
}

func (c *Client) lastLink(ctx context.Context, p *peer, tr Transport) (l link, counts bool, err error) {
	var port *proven
	counts = true
	if tr != IPC {
		if port, err = c.prove(ctx, p, p.place); err != nil {
			return nil, false, err
		}
		defer port.discard()
		counts = port.counts
	}
	l, err = c.open(ctx, p, p.place, tr, port)
	return l, counts, err
}

// awaitAkin waits until the client with a socket that the port p may belong to has had its farewell,
// which the last word of the port must not follow.
func (c *Client) awaitAkin(p *peer) {
	for _, q := range c.peers {
		c.mu.Lock()
		wait := q.run != nil && mayBe(p, q)
		c.mu.Unlock()
		if wait {
			<-q.run.done
		}
	}
}

// owe notes what p may have after a session.
func (c *Client) owe(p *peer, sent *devices.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.sent = sent
}

// settled notes that p has had its farewell.
func (c *Client) settled(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.sent = nil
	c.supersede(p, nil)
}

// supersede notes that p has taken a list, or its farewell if that is nil, instead of what those were
// sent that may be the same client. A port needs no last word beside its socket. A socket does, in
// case the port is not its own after all. mu is held.
func (c *Client) supersede(p *peer, list *devices.Snapshot) {
	for _, q := range c.peers {
		switch {
		case akin(q, p):
			q.sent = nil
		case akin(p, q) && q.sent != nil && list != nil:
			q.sent = list
		}
	}
}
