package rpcclient

import (
	"context"
	"time"
)

// lastWord does what the policy says to a client that has a list and no link at the end, as one
// that has just ended its connection, if it can be reached before ctx ends (rule R53).
func (c *Client) lastWord(ctx context.Context, p *peer) {
	defer p.dropConn()
	tr := p.worked
	if p.sent == nil || tr == "" || c.opts().OnExit == ExitLeave || ctx.Err() != nil || !p.offers(tr) || p.bucket.linkDelay(time.Now()) > 0 {
		return
	}
	l, counts, err := c.lastLink(ctx, p, tr)
	if err == nil {
		defer l.close()
		s := &session{link: l, sent: p.sent}
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
