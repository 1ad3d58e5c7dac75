package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/session"
)

// tryTransports talks to p over the best transport that p accepts, until that ends. worked reports whether
// p has accepted a list.
func (c *Client) tryTransports(ctx, endWhenIdle context.Context, p *peer, at location) (worked bool, err error) {
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
		case tr == WebSocket && port.over == HTTP: // only HTTP has given a proof
			continue
		case tr == WebSocket && c.originRefused(port):
			err = errNoOrigin
			c.locked(func() { p.refused[tr] = err })
			continue
		}
		worked, err = c.runSessions(ctx, p, connection{at: at, over: tr, endWhenIdle: endWhenIdle}, port)
		switch {
		case ctx.Err() != nil || worked:
			return worked, err // a transport that worked is tried again first: the next may be far worse
		case isUnsupported(err) && tr == IPC && errors.Is(c.checkListening(ctx, at), errUnreachable):
			return false, fmt.Errorf("%w: it has ended", errUnreachable)
		case errors.Is(err, link.ErrNoAnswer) && tr == c.lastTransport(p): // it is frozen, over any transport
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

// errNoOrigin is why a client's WebSocket is not tried: trying would cost a token (rule R19).
var errNoOrigin = errors.New("its WebSocket lets in registered origins only, and none is configured")

// originRefused reports whether the WebSocket is certain to refuse us, and HTTP may be tried instead:
// only the client itself has the fingerprint, and it admits registered origins only (rules R8, R19).
func (c *Client) originRefused(port *provenPort) bool {
	return port.over == "" && c.opts().Origin == "" && slices.Contains(c.opts().Transports, HTTP)
}

// portTransports returns the transports that use a port.
func (c *Client) portTransports() []Transport {
	return slices.DeleteFunc(slices.Clone(c.opts().Transports), func(t Transport) bool { return t == IPC })
}

func (c *Client) target(at location) link.Target {
	o := c.opts()
	return link.Target{
		Port: at.port.Port, ClientID: o.ClientID, Origin: o.Origin, Dial: o.DialPort, Jitter: o.Jitter,
		SameOwner: func() (same, known bool) { return c.sameOwner(at.port) },
	}
}

// runSessions opens the link of conn and runs a session on it, then one on each better link that replaces it.
func (c *Client) runSessions(ctx context.Context, p *peer, conn connection, port *provenPort) (worked bool, err error) {
	to := conn.at.address(conn.over)
	if err := c.waitForAdmission(ctx, p, to); err != nil {
		return false, err
	}
	c.applySessionOutcome(p, onAdmitted, func(s *Session) {
		if s.State == Slow {
			s.Address = to
			return
		}
		*s = Session{Address: to, Error: s.Error, Reason: s.Reason} // the trouble may not be over
	})
	err = c.openLink(ctx, p, &conn, port)
	if err == nil && conn.over == IPC {
		if err = c.waitForPorts(ctx, p, conn.Link); err != nil {
			conn.Close()
		}
	}
	if err != nil {
		return false, err
	}
	for {
		delivered, err := c.runSession(ctx, p, conn)
		worked = worked || delivered
		better := c.takeNextLink(p)
		if better == nil {
			return worked, err
		}
		conn = better.connection
	}
}

// sameOwner reports whether l is still the same listener. It is assumed to be where that is not known.
func (c *Client) sameOwner(l local.Listener) (same, known bool) {
	if l.ID == 0 {
		return true, false
	}
	now, err := c.opts().Local.Listeners([]int{l.Port})
	if err != nil {
		return true, false
	}
	return slices.ContainsFunc(now, func(n local.Listener) bool { return n.Port == l.Port && n.ID == l.ID }), true
}

// openLink opens the link of conn, or takes the one that proving the port has opened; port is not used over IPC. A connection
// costs a token if it is to Discord's own client: a server that answers GET in another way follows the written specification, which
// has no tokens.
func (c *Client) openLink(ctx context.Context, p *peer, conn *connection, port *provenPort) (err error) {
	var l link.Link
	conn.counts = conn.over == IPC || port.counts
	conn.answered = conn.over != IPC && port.over == HTTP
	switch {
	case conn.over != IPC && port.link != nil && port.over == conn.over:
		l, port.link = port.link, nil
	case conn.over == HTTP:
		l, err = link.OpenHTTP(ctx, port.Target, c.reprove(p, port.Target, port.over), port.counts)
	default:
		l, err = c.connect(ctx, p, conn.at, conn.over, conn.counts)
	}
	if err != nil {
		return err
	}
	var same bool
	if conn.over == IPC {
		sockets, _ := c.opts().Local.Sockets()
		same = slices.Contains(sockets, conn.at.socket)
	} else {
		same, _ = c.sameOwner(conn.at.port)
	}
	if !same { // it was created anew between the scan and the connect
		l.Close()
		return errOwnerChanged
	}
	conn.Link = l
	return nil
}

// openNewLink opens the link of conn outside of an attempt. A port is proved over the transports in by.
func (c *Client) openNewLink(ctx context.Context, p *peer, conn *connection, by []Transport) (err error) {
	var port *provenPort
	if conn.over != IPC {
		if port, err = c.prove(ctx, p, conn.at, by); err != nil {
			return err
		}
		defer port.close()
	}
	defer p.bucket.Reserve()() // the link is worth more than another list over the present one
	return c.openLink(ctx, p, conn, port)
}

// connect opens a link over IPC or WebSocket, on which the client sends READY.
func (c *Client) connect(ctx context.Context, p *peer, at location, tr Transport, counts bool) (l link.Link, err error) {
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
		spent := p.bucket.Spend(time.Now())
		defer func() {
			spent(time.Now())
			if errors.Is(err, &link.Refusal{Phase: link.PhaseConnect, Code: link.CodeAbnormal}) || errors.Is(err, link.ErrUnheard) {
				p.bucket.GiveBack() // a connection that is turned away in the queue costs none (rule R80), nor one that reached nobody
			}
		}()
	}
	ctx, cancel := c.greetingTimeout(ctx, p, at, tr, counts)
	defer cancel()
	if tr == IPC {
		return link.OpenIPC(ctx, conn, c.opts().ClientID)
	}
	return link.OpenWebSocket(ctx, c.target(at))
}

// readyLimit is how long the client allows from the connect to READY (rule R80). A connection that is
// old already is not used any more.
const readyLimit = 10 * time.Second

// socketConn returns a fresh connection to the socket.
func (c *Client) socketConn(ctx context.Context, p *peer, at location) (net.Conn, error) {
	if !c.inSession(p) && p.conn != nil {
		conn := p.conn
		p.conn = nil
		if time.Since(p.dialedAt) <= readyLimit/10 {
			return conn, nil
		}
		_ = conn.Close()
	}
	return c.dialSocket(ctx, at)
}

// dialSocket connects to the socket, whose owner must still be the same process: names and ids go
// to nobody else (rule R6).
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

// waitForToken waits until the client has a token for a connection over tr (rule R67).
func (c *Client) waitForToken(ctx context.Context, p *peer, tr Transport) error {
	for waited := false; ; waited = true {
		changed := p.bucket.Changed()
		wait := p.bucket.LinkDelay(time.Now())
		if wait <= 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		if !waited {
			c.opts().OnEvent(TokenAwaited, tr)
		}
		inSession := c.inSession(p) // then the status is that of the session
		if !inSession {
			c.updateSession(p, func(s *Session) { s.NextTry = time.Now().Add(wait) })
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(wait):
		}
		if !inSession {
			c.updateSession(p, func(s *Session) { s.NextTry = time.Time{} })
		}
	}
}

// greetingTimeout bounds the wait for READY. A client whose tokens are spent, perhaps by an agent that
// ran before this one, queues us instead of refusing (rule R67), and a frozen one will go on. So the
// wait is short only if another transport is left and Discord's own client does not hold the port.
func (c *Client) greetingTimeout(ctx context.Context, p *peer, at location, tr Transport, counts bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	another, longest := c.hasAnotherTransport(p, at, tr), c.opts().HTTPTimeout
	if c.lastTransport(p) == tr {
		another, longest = false, frozenLimit
	}
	limit := time.AfterFunc(longest, func() { cancel(link.ErrNoAnswer) })
	check := time.AfterFunc(c.opts().AnswerTimeout, func() {
		mayQueue := counts && (!another || (at.hasPort() && link.Fingerprint(ctx, c.target(at), c.opts().AnswerTimeout) == nil))
		if !mayQueue {
			cancel(link.ErrNoAnswer)
		}
	})
	return ctx, func() {
		limit.Stop()
		check.Stop()
		cancel(nil)
	}
}

// frozenLimit bounds the wait for READY from a client that has answered over the same transport before,
// and so is frozen. Each connection that is given up costs it a token when it goes on.
const frozenLimit = time.Hour

// lastTransport returns the transport over which p has answered last; "": none since it restarted.
func (c *Client) lastTransport(p *peer) Transport {
	return read(c, func() Transport { return p.lastTransport })
}

// hasAnotherTransport reports whether a transport is left to try after tr.
func (c *Client) hasAnotherTransport(p *peer, at location, tr Transport) bool {
	all := c.opts().Transports
	i := slices.Index(all, tr)
	return slices.ContainsFunc(all[i+1:], func(t Transport) bool { return at.offers(t) && c.refusedWith(p, t) == nil })
}

// runSession runs a session on conn until it ends, and closes conn. If the agent stops, or the settings
// exclude the client, it sends the farewell first.
func (c *Client) runSession(ctx context.Context, p *peer, conn connection) (worked bool, err error) {
	defer conn.Close()
	start, to, event := time.Now(), conn.at.address(conn.over), Connected
	if p.hasGreeted {
		event = Reconnected
	}
	p.hasGreeted = true
	c.logOnce(p, "connected", "to", to)
	c.opts().OnEvent(event, conn.over)
	who := c.keyOf(p, conn.at)
	_, known := c.memory.find(who)
	answered := p.hasAnswered || conn.answered || known
	o := &sessionObserver{Client: c, p: p, to: to, who: who, paced: conn.counts && conn.over == HTTP}
	s := session.New(session.Options{
		Link: conn.Link, Over: conn.over, Outbox: p.outbox, Limits: func() session.Limits { return c.opts().answerLimits(conn.over) },
		Jitter: c.opts().Jitter, Observer: o, EndWhenIdle: conn.endWhenIdle, HasAnswered: answered,
	})
	var why string
	c.locked(func() {
		p.hadSession = true
		s.MayHold, p.inSession, p.linkMayCost, why = c.mayHold(p), true, conn.counts, c.refusals(p)
		c.notifyAll()
	})
	if o.paced {
		s.Bucket = p.bucket
		c.logOnce(p, "degraded", "client", to, nonEmpty("reason", why), nonEmpty("remedy", remedyOf(o.overHTTP(why))))
	}
	err = s.Run(ctx)
	p.hasAnswered = s.HasAnswered
	c.locked(func() {
		p.mayHold = s.MayHold
		if s.HasDelivered() {
			p.lastTransport = conn.over
		}
	})
	if time.Since(start) > c.opts().RetryMax { // a session that ends at once must not be reopened at full speed
		p.retryBackoff.Reset()
	}
	if cause := context.Cause(ctx); errors.Is(cause, errStopping) || errors.Is(cause, errExcluded) {
		c.farewell(ctx, p, to, s)
		if o.paced && s.HasDelivered() {
			c.memory.add(who, p.bucket.Full())
		}
	}
	c.locked(func() { p.inSession = false })
	return s.HasDelivered(), err
}
