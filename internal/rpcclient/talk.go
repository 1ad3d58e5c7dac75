package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// attempt talks to p until that ends, over the best transport that p accepts. worked says that
// it has delivered a list.
func (c *Client) attempt(ctx context.Context, p *peer, at place, leave <-chan struct{}) (worked bool, err error) {
	defer p.dropConn()
	var port *proven
	defer func() { port.discard() }()
	for _, tr := range c.opts.Transports {
		if !at.offers(tr) {
			continue
		}
		if p.refused[tr] != nil {
			err = p.refused[tr]
			continue
		}
		if tr != IPC && port == nil {
			if port, err = c.prove(ctx, at); err != nil {
				return false, err // it is not a matter of the transport
			}
		}
		if tr == WebSocket && port.proof == ProofAnswer {
			continue // what proved it has shown which works
		}
		worked, err = c.talk(ctx, p, at, tr, port, leave)
		switch {
		case ctx.Err() != nil || worked:
			return worked, err // one that worked gets another chance: the next best may be far worse
		case lasting(err):
			p.refused[tr] = err
		case !givesWay(err):
			return false, err
		}
		c.once(p, "transport given up", "transport", tr, "client", address(at, tr), "reason", err, "remedy", Remedy(err))
	}
	return false, err
}

// prove finds out whether a client holds the port. All of it ends with ProbeTimeout: a port
// that accepts and says nothing must not cost more.
func (c *Client) prove(ctx context.Context, at place) (*proven, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.ProbeTimeout)
	defer cancel()
	p, err := probe(ctx, c.target(at), c.overPort())
	if err != nil && errors.Is(err, ErrNotRPC) {
		err = fmt.Errorf("%w: %w", errStranger, err)
	}
	return p, err
}

// overPort are the transports that use a port.
func (c *Client) overPort() []Transport {
	return slices.DeleteFunc(slices.Clone(c.opts.Transports), func(t Transport) bool { return t == IPC })
}

func (c *Client) target(at place) target {
	return target{
		addr: loopback(at.port.Port), port: at.port.Port, dial: c.opts.DialPort, clientID: c.opts.ClientID, origin: c.opts.Origin, chance: c.opts.Chance,
		same: func() bool { return c.sameOwner(at.port) },
	}
}

func address(at place, tr Transport) Address {
	a := Address{Transport: tr, PID: at.PID, Name: at.Name}
	if tr == IPC {
		a.Socket = at.socket.Path
	} else {
		a.Port = at.port.Port
	}
	return a
}

// talk opens a link and holds a session on it to its end.
func (c *Client) talk(ctx context.Context, p *peer, at place, tr Transport, port *proven, leave <-chan struct{}) (worked bool, err error) {
	to := address(at, tr)
	if err := c.turn(ctx, p, to); err != nil {
		return false, err
	}
	c.set(p, func(s *Session) { *s = Session{State: Connecting, Address: to} })
	// Only the client itself counts tokens: a server that answers in another way follows the
	// specification, which knows of none.
	counts := tr == IPC || port.counts
	var l link
	if tr != IPC && port.over == tr && port.link != nil {
		l, port.link = port.link, nil
	} else if l, err = c.open(ctx, p, at, tr, counts); err != nil {
		return false, err
	}
	defer l.close()
	if !c.current(at, tr) { // it was made anew between the look and the connect
		return false, errReplaced
	}
	return c.hold(ctx, p, l, to, counts, leave)
}

// current reports whether the link over tr leads to the client that was found.
func (c *Client) current(at place, tr Transport) bool {
	if tr != IPC {
		return c.sameOwner(at.port)
	}
	now, _ := c.opts.Local.Sockets()
	return slices.Contains(now, at.socket)
}

// sameOwner reports whether l still listens, as far as the system tells.
func (c *Client) sameOwner(l Listener) bool {
	if l.ID == 0 {
		return true
	}
	now, err := c.opts.Local.Listeners([]int{l.Port})
	return err != nil || slices.ContainsFunc(now, func(n Listener) bool { return n.Port == l.Port && n.ID == l.ID })
}

// open makes the link. A connect costs a token where the client counts them.
func (c *Client) open(ctx context.Context, p *peer, at place, tr Transport, counts bool) (link, error) {
	if counts && tr != HTTP {
		if err := c.token(ctx, p); err != nil {
			return nil, err
		}
	}
	var conn net.Conn
	if tr == IPC {
		var err error
		if conn, err = c.socketConn(ctx, p, at); err != nil {
			return nil, err
		}
	}
	if counts && tr != HTTP {
		spent := p.bucket.spend(time.Now())
		defer func() { spent(time.Now()) }()
	}
	ctx, cancel := c.patience(ctx, p, at, tr, counts)
	defer cancel(nil)
	switch tr {
	case IPC:
		return orNil(openIPC(ctx, conn, c.opts.ClientID))
	case WebSocket:
		return orNil(openWebSocket(ctx, c.target(at)))
	default:
		return orNil(openHTTP(ctx, c.target(at), c.overPort(), counts))
	}
}

// socketConn is a fresh connection to the socket, whose owner must still be the same: names and
// ids go to nobody else (rule R6).
func (c *Client) socketConn(ctx context.Context, p *peer, at place) (net.Conn, error) {
	if conn := p.conn; conn != nil {
		p.conn = nil
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.AnswerTimeout)
	defer cancel()
	conn, owner, err := c.opts.Local.Dial(ctx, at.socket.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDeaf, err)
	}
	if owner.PID != at.PID || owner.UID != at.UID {
		_ = conn.Close()
		return nil, errReplaced
	}
	return conn, nil
}

// orNil keeps a nil pointer from becoming a link that is not nil.
func orNil[L link](l L, err error) (link, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// token waits until the client has a token to give (rule R67).
func (c *Client) token(ctx context.Context, p *peer) error {
	if wait := p.bucket.delay(time.Now()); wait > 0 {
		c.set(p, func(s *Session) { s.NextTry = time.Now().Add(wait) })
		sleep(ctx, wait)
		c.set(p, func(s *Session) { s.NextTry = time.Time{} })
	}
	return ctx.Err()
}

// patience bounds the wait for READY. A client whose tokens are spent, by an agent that ran
// before this one for instance, makes us queue instead of refusing (rule R67). So it is given
// up only where that gains something: where another transport is left, and what holds the port
// is not the client itself.
func (c *Client) patience(ctx context.Context, p *peer, at place, tr Transport, counts bool) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	another := c.another(p, at, tr)
	limit := time.AfterFunc(c.opts.HTTPTimeout, func() { cancel(ErrNoAnswer) })
	check := time.AfterFunc(c.opts.AnswerTimeout, func() {
		queues := counts && (!another || (at.port.Port != 0 && fingerprint(ctx, c.target(at)) == nil))
		if !queues {
			cancel(ErrNoAnswer)
		}
	})
	return ctx, func(err error) {
		limit.Stop()
		check.Stop()
		cancel(err)
	}
}

// another reports whether a transport is left after tr.
func (c *Client) another(p *peer, at place, tr Transport) bool {
	rest := c.opts.Transports[slices.Index(c.opts.Transports, tr)+1:]
	return slices.ContainsFunc(rest, func(t Transport) bool { return at.offers(t) && p.refused[t] == nil })
}

// hold runs a session on l to its end. When the agent stops it then does what the policy says.
func (c *Client) hold(ctx context.Context, p *peer, l link, to Address, counts bool, leave <-chan struct{}) (worked bool, err error) {
	start := time.Now()
	c.once(p, "connected", "to", to)
	h := &holder{Client: c, p: p, to: to, start: start, paced: counts && to.Transport == HTTP}
	s := &session{
		link: l, to: to, box: p.box, timeout: c.opts.AnswerTimeout, pacer: newPacer(),
		retry: c.opts.backoff(refusedFirst, refusedMax), tell: h, answers: p.answered, leave: leave,
	}
	c.holding(p, true)
	defer c.holding(p, false)
	if to.Transport == HTTP {
		s.timeout = c.opts.HTTPTimeout
	}
	if h.paced {
		s.bucket = &p.bucket
		c.once(p, "degraded", "client", to, "reason", c.refusals(p), "remedy", h.slow())
	}
	err = s.run(ctx)
	p.answered = s.answers
	if time.Since(start) > c.opts.RetryMax {
		p.retry.reset()
	}
	if ctx.Err() != nil && !h.mute && errors.Is(context.Cause(ctx), errStopping) {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.StopTimeout)
		defer cancel()
		if err := s.farewell(bye, c.opts.OnExit); err != nil {
			c.opts.Log.Warn("the client keeps the last list: it could not be changed", "client", to, "reason", err)
		}
	}
	return !s.first, err
}
