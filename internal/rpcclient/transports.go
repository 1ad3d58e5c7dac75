package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"sidetone/internal/local"
)

// tryTransports talks to p over the best transport that p accepts, until that ends. worked says that
// p has accepted a list.
func (c *Client) tryTransports(ctx context.Context, p *peer, at location, endWhenIdle chan struct{}) (worked bool, err error) {
	defer p.dropConn()
	var port *provenPort
	defer func() { port.close() }()
	for _, tr := range c.opts().Transports {
		if !at.offers(tr) {
			continue
		}
		if refusal := c.refusedWith(p, tr); refusal != nil {
			err = refusal
			continue
		}
		if tr != IPC && port == nil {
			if port, err = c.prove(ctx, p, at, c.portTransports()); err != nil {
				return false, err // another transport would not help
			}
		}
		switch {
		case tr == WebSocket && port.over == HTTP: // the proof over HTTP has shown what works
			continue
		case tr == WebSocket && c.originRefused(port):
			err = errNoOrigin
			c.locked(func() { p.refused[tr] = err })
			continue
		}
		worked, err = c.runSessions(ctx, p, at, tr, port, endWhenIdle)
		switch {
		case ctx.Err() != nil || worked:
			return worked, err // a transport that worked is tried again first: the next may be far worse
		case isUnsupported(err) && tr == IPC && errors.Is(c.checkListening(ctx, at), errUnreachable):
			return false, fmt.Errorf("%w: it has ended", errUnreachable)
		case errors.Is(err, errNoAnswer) && tr == c.lastTransport(p): // it is frozen, over any transport
			return false, err
		case isPermanent(err):
			c.locked(func() { p.refused[tr] = err })
		case !leavesOtherTransports(err):
			return false, err
		}
		c.logOnce(p, "transport given up", "transport", tr, "client", at.address(tr), "reason", err, remedy(err))
	}
	return false, err
}

// errNoOrigin is why a client's WebSocket is not tried: the try would cost a token (rule R19).
var errNoOrigin = errors.New("its WebSocket lets in registered origins only, and none is configured")

// originRefused reports whether the WebSocket is certain to refuse us, and HTTP may be tried instead:
// only the client itself has the fingerprint, and it admits registered origins only (rules R8, R19).
func (c *Client) originRefused(port *provenPort) bool {
	return port.over == "" && c.opts().Origin == "" && slices.Contains(c.opts().Transports, HTTP)
}

// portTransports are the transports that use a port.
func (c *Client) portTransports() []Transport {
	return slices.DeleteFunc(slices.Clone(c.opts().Transports), func(t Transport) bool { return t == IPC })
}

func (c *Client) target(at location) target {
	return target{c.opts(), at.port.Port, func() bool { return c.sameOwner(at.port) }}
}

// runSessions opens a link and runs a session on it, and on each better link that follows, to their end.
func (c *Client) runSessions(
	ctx context.Context, p *peer, at location, tr Transport, port *provenPort, endWhenIdle chan struct{},
) (worked bool, err error) {
	to := at.address(tr)
	if err := c.waitForAdmission(ctx, p, to); err != nil {
		return false, err
	}
	c.applySessionOutcome(p, onAdmitted, func(s *Session) {
		if s.State == Slow {
			s.Address = to
			return
		}
		*s = Session{Address: to, Error: s.Error, Reason: s.Reason} // what was wrong may still be
	})
	l, err := c.openLink(ctx, p, at, tr, port)
	if err == nil && tr == IPC {
		if err = c.waitForPorts(ctx, p, l); err != nil {
			l.close()
		}
	}
	if err != nil {
		return false, err
	}
	for conn := (connection{l, at, tr, countsTokens(tr, port), endWhenIdle}); ; {
		delivered, err := c.runSession(ctx, p, conn)
		worked = worked || delivered
		better := c.takeNextLink(p)
		if better == nil {
			return worked, err
		}
		conn = better.connection
	}
}

// sameOwnerAt reports whether the link over tr leads to the client that was found.
func (c *Client) sameOwnerAt(at location, tr Transport) bool {
	if tr != IPC {
		return c.sameOwner(at.port)
	}
	now, _ := c.opts().Local.Sockets()
	return slices.Contains(now, at.socket)
}

// sameOwner reports whether l still listens, as far as the system tells.
func (c *Client) sameOwner(l local.Listener) bool {
	if l.ID == 0 {
		return true
	}
	now, err := c.opts().Local.Listeners([]int{l.Port})
	return err != nil || slices.ContainsFunc(now, func(n local.Listener) bool { return n.Port == l.Port && n.ID == l.ID })
}

// openLink makes the link, or takes the one that proving the port has made. A connection costs a token
// where the client counts them. Only Discord's own client does: a server that answers GET in another
// way follows the written specification, which has no tokens.
func (c *Client) openLink(ctx context.Context, p *peer, at location, tr Transport, port *provenPort) (l link, err error) {
	switch {
	case port != nil && port.link != nil && port.over == tr:
		l, port.link = port.link, nil
	case tr == HTTP:
		l, err = openHTTP(ctx, port.target, c.reprove(p, port), port.counts)
	default:
		l, err = c.connect(ctx, p, at, tr, countsTokens(tr, port))
	}
	switch {
	case err != nil:
		return nil, err // l may be a link that is nil
	case !c.sameOwnerAt(at, tr): // it was made anew between the look and the connect
		l.close()
		return nil, errOwnerChanged
	}
	return l, nil
}

// countsTokens reports whether the client may count tokens for what is opened over tr.
func countsTokens(tr Transport, port *provenPort) bool { return tr == IPC || port.counts }

// openNewLink makes a link beside all attempts. A port is proved over the transports in by.
func (c *Client) openNewLink(
	ctx context.Context, p *peer, at location, tr Transport, by []Transport,
) (l link, counts bool, err error) {
	var port *provenPort
	if tr != IPC {
		if port, err = c.prove(ctx, p, at, by); err != nil {
			return nil, false, err
		}
		defer port.close()
	}
	defer p.bucket.reserve()() // it is worth more than a list over the link before
	l, err = c.openLink(ctx, p, at, tr, port)
	return l, countsTokens(tr, port), err
}

// connect makes a link over IPC or WebSocket, on which the client greets.
func (c *Client) connect(ctx context.Context, p *peer, at location, tr Transport, counts bool) (l link, err error) {
	if counts {
		if err := c.waitForToken(ctx, p, tr); err != nil {
			return nil, err
		}
	}
	defer func() { c.countRefusal(tr, err) }()
	var conn net.Conn
	if tr == IPC {
		if conn, err = c.socketConn(ctx, p, at); err != nil {
			return nil, err
		}
	}
	if counts {
		spent := p.bucket.spend(time.Now())
		defer func() {
			spent(time.Now())
			if errors.Is(err, &refusalError{Phase: phaseConnect, Code: codeAbnormal}) {
				p.bucket.giveBack() // who is sent away from the line has cost none (rule R80)
			}
		}()
	}
	ctx, cancel := c.greetingTimeout(ctx, p, at, tr, counts)
	defer cancel(nil)
	if tr == IPC {
		return openIPC(ctx, conn, c.opts().ClientID)
	}
	return openWebSocket(ctx, c.target(at))
}

// readyLimit is how long the client allows from the connection to the end of its greeting (rule R80).
// A connection that is old already is not used for one.
const readyLimit = 10 * time.Second

// socketConn is a fresh connection to the socket.
func (c *Client) socketConn(ctx context.Context, p *peer, at location) (net.Conn, error) {
	if c.inSession(p) || p.conn == nil {
		return c.dialSocket(ctx, at)
	}
	if time.Since(p.dialedAt) > readyLimit/10 {
		p.dropConn()
		return c.dialSocket(ctx, at)
	}
	conn := p.conn
	p.conn = nil
	return conn, nil
}

// dialSocket connects to the socket, whose owner must still be the same: names and ids go to
// nobody else (rule R6).
func (c *Client) dialSocket(ctx context.Context, at location) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts().AnswerTimeout)
	defer cancel()
	conn, owner, err := c.opts().Local.Dial(ctx, at.socket.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if owner.PID != at.PID || owner.UID != at.UID {
		_ = conn.Close()
		return nil, errOwnerChanged
	}
	return conn, nil
}

// waitForToken waits until the client has a token to give for a connection over tr (rule R67).
func (c *Client) waitForToken(ctx context.Context, p *peer, tr Transport) error {
	for waited := false; ; waited = true {
		changed := p.bucket.changed()
		wait := p.bucket.linkDelay(time.Now())
		if wait <= 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		if !waited {
			c.opts().OnEvent(TokenAwaited, tr)
		}
		held := c.inSession(p) // then the status is the session's
		if !held {
			c.updateSession(p, func(s *Session) { s.NextTry = time.Now().Add(wait) })
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(wait):
		}
		if !held {
			c.updateSession(p, func(s *Session) { s.NextTry = time.Time{} })
		}
	}
}

// greetingTimeout bounds the wait for READY. A client whose tokens are spent, perhaps by an agent that
// ran before this one, makes us wait in line instead of refusing (rule R67), and a frozen one will go
// on. So the wait is given up only where another transport is left, and what holds the port is not
// Discord's own client.
func (c *Client) greetingTimeout(
	ctx context.Context, p *peer, at location, tr Transport, counts bool,
) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	another, longest := c.hasAnotherTransport(p, at, tr), c.opts().HTTPTimeout
	if c.lastTransport(p) == tr {
		another, longest = false, frozenLimit
	}
	limit := time.AfterFunc(longest, func() { cancel(errNoAnswer) })
	check := time.AfterFunc(c.opts().AnswerTimeout, func() {
		queues := counts && (!another || (at.hasPort() && fingerprint(ctx, c.target(at), c.opts().AnswerTimeout) == nil))
		if !queues {
			cancel(errNoAnswer)
		}
	})
	return ctx, func(err error) {
		limit.Stop()
		check.Stop()
		cancel(err)
	}
}

// frozenLimit bounds the wait for READY of a client that has answered over the same transport before,
// and so is frozen. Each connection that is given up costs it a token when it goes on.
const frozenLimit = time.Hour

// lastTransport is the transport over which p has answered last; "" is none since it restarted.
func (c *Client) lastTransport(p *peer) (tr Transport) {
	c.locked(func() { tr = p.lastTransport })
	return tr
}

// hasAnotherTransport reports whether a transport is left to try after tr.
func (c *Client) hasAnotherTransport(p *peer, at location, tr Transport) bool {
	all := c.opts().Transports
	i := slices.Index(all, tr)
	return slices.ContainsFunc(all[i+1:], func(t Transport) bool { return at.offers(t) && c.refusedWith(p, t) == nil })
}

// runSession runs a session on l to its end, and closes l. If the agent stops, or the settings leave
// the client out, it says farewell first.
func (c *Client) runSession(ctx context.Context, p *peer, conn connection) (worked bool, err error) {
	defer conn.close()
	start, to := time.Now(), conn.at.address(conn.over)
	c.logOnce(p, "connected", "to", to)
	c.opts().OnEvent(p.connectEvent(), conn.over)
	o := &sessionObserver{Client: c, p: p, to: to, start: start, paced: conn.counts && conn.over == HTTP}
	s := &session{
		link: conn.link, to: to, outbox: p.outbox, pacer: newPacer(), retry: c.opts().backoff(refusedFirst, refusedMax),
		limits: func() limits { return c.opts().answerLimits(conn.over) }, observer: o, hasAnswered: p.hasAnswered, endWhenIdle: conn.endWhenIdle,
	}
	var why string
	c.locked(func() {
		p.met = true
		s.mayHold, p.inSession, p.countsLinks, why = p.mayHold, true, conn.counts, c.refusals(p)
		c.notifyAll()
	})
	if o.paced {
		s.bucket = p.bucket
		c.logOnce(p, "degraded", "client", to, given("reason", why), given("remedy", remedyOf(o.overHTTP())))
	}
	err = s.run(ctx)
	p.hasAnswered = s.hasAnswered
	c.locked(func() {
		p.mayHold = s.mayHold
		if !s.first {
			p.lastTransport = conn.over
		}
	})
	if time.Since(start) > c.opts().RetryMax {
		p.retryBackoff.reset()
	}
	if cause := context.Cause(ctx); !o.ignored && (errors.Is(cause, errStopping) || errors.Is(cause, errExcluded)) {
		c.farewell(ctx, p, s)
	}
	c.locked(func() { p.inSession = false })
	return !s.first, err
}
