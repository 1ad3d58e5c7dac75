package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidetone/internal/rpcclient/link"
)

// provenPort is a port whose owner has proved to be a client. Names and ids of devices go to nobody else (rule R10).
type provenPort struct {
	link.Target
	// over is the transport whose answer was the proof: a WebSocket's READY (rule R11), or an answer to an empty list over HTTP
	// (rule R12). "" is the fingerprint, the free proof, which costs the client nothing (rule R8).
	over   Transport
	counts bool      // it may be Discord's own client, which counts tokens (rule R67)
	link   link.Link // opened by the proof; nil: none
}

func (p *provenPort) close() {
	if p != nil && p.link != nil {
		p.link.Close()
	}
}

// prove finds out whether a client holds the port: by the free proof or, where that is missing, over the
// transports in by. It waits for the free proof as long as for any answer, because any other proof costs
// the client a token. Meanwhile other clients go first.
func (c *Client) prove(ctx context.Context, p *peer, at location, by []Transport) (*provenPort, error) {
	defer c.markWhenSlow(p)()
	t := c.target(at)
	free := link.Fingerprint(ctx, t, c.opts().AnswerTimeout)
	switch {
	case free == nil:
		return &provenPort{Target: t, counts: true}, nil
	case errors.Is(free, link.ErrNoClient):
		return nil, free
	}
	if err := c.waitToProbe(ctx, p); err != nil {
		return nil, err
	}
	refused := fmt.Errorf("%w: %s: %w", errNotClient, t.Addr(), link.ErrNotRPC)
	for _, over := range by {
		l, err := c.proveBy(ctx, p, t, over, free)
		if err == nil {
			return &provenPort{t, over, mayCountTokens(free), l}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.As(err, new(*link.Refusal)) {
			refused = err // it speaks the protocol, and says why it refuses
		}
	}
	return nil, refused
}

// markWhenSlow lets other clients go first if done is not called within ProbeTimeout.
func (c *Client) markWhenSlow(p *peer) (done func()) {
	over := false
	timer := time.AfterFunc(c.opts().ProbeTimeout, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !over {
			p.probeIsSlow = true
			c.notifyAll()
		}
	})
	return func() {
		timer.Stop()
		c.locked(func() { over = true })
	}
}

// mayCountTokens reports whether a server that failed to give the free proof with this error may be Discord's
// own client, which counts tokens: it did not answer GET in another way, but late or not at all.
func mayCountTokens(free error) bool { return !errors.Is(free, link.ErrOtherAnswer) }

// proveBy asks for a proof that is not free. An empty list is sent only to a server that is certainly not
// Discord's own client, which would take it for its vendor's list: a server that is merely late is asked
// for the free proof again later (rule R12). The answer may take as long as that to any list: in a server
// that queues requests, the next one would only wait behind the one that was given up (rule R88).
func (c *Client) proveBy(ctx context.Context, p *peer, t link.Target, over Transport, free error) (link.Link, error) {
	if mayCountTokens(free) {
		if over == HTTP {
			return nil, free
		}
		if err := c.waitForToken(ctx, p, WebSocket); err != nil {
			return nil, err
		}
		spent := p.bucket.Spend(time.Now())
		defer func() { spent(time.Now()) }()
	}
	limit := c.opts().ProbeTimeout
	if over == HTTP {
		limit = c.opts().HTTPTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if over == WebSocket {
		l, err := link.OpenWebSocket(ctx, t)
		c.countRefusal(WebSocket, err)
		return l, err
	}
	l, err := link.ProveByAnswer(ctx, t, c.reprove(p, t, over))
	if err == nil || !errors.Is(err, link.ErrNotRPC) { // a client may have stored the empty list
		c.resendOthers(p)
	}
	return l, err
}

// reprove returns a function that makes the owner of a port prove itself once more, in the same way as before.
func (c *Client) reprove(p *peer, t link.Target, over Transport) func(context.Context) error {
	return func(ctx context.Context) error {
		err := link.Fingerprint(ctx, t, c.opts().AnswerTimeout)
		if err == nil || over == "" {
			return err
		}
		l, err := c.proveBy(ctx, p, t, over, err)
		if err == nil {
			l.Close()
		}
		return err
	}
}

// resendOthers sends the list again to all clients but p: the empty list that probed a port may have
// reached one of them, and replaced its list.
func (c *Client) resendOthers(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.peers {
		if q != p {
			q.outbox.AskResend()
		}
	}
}
