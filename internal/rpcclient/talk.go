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

// tryTransports talks to p until that ends, over the best transport that p accepts. worked says that
// it has delivered a list.
func (c *Client) tryTransports(ctx context.Context, p *peer, at location, leave <-chan struct{}) (worked bool, err error) {
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
				return false, err // it is not a matter of the transport
			}
		}
		switch {
		case tr == WebSocket && port.proof == ProofAnswer: // what proved it has shown which works
			continue
		case tr == WebSocket && c.originRefused(port):
			err = errNoOrigin
			c.rememberRefusal(p, tr, err)
			continue
		}
		worked, err = c.runSessions(ctx, p, at, tr, port, leave)
		switch {
		case ctx.Err() != nil || worked:
			return worked, err // one that worked gets another chance: the next best may be far worse
		case unsupported(err) && tr == IPC && errors.Is(c.checkListening(ctx, at), errUnreachable):
			return false, fmt.Errorf("%w: it has ended", errUnreachable)
		case errors.Is(err, ErrNoAnswer) && tr == c.lastTransport(p): // it is frozen, over any transport
			return false, err
		case lasting(err):
			c.rememberRefusal(p, tr, err)
		case !givesWay(err):
			return false, err
		}
		c.logOnce(p, "transport given up", "transport", tr, "client", address(at, tr), "reason", err, "remedy", Remedy(err))
	}
	return false, err
}

// errNoOrigin is why a client's WebSocket is not tried: it would cost a token (rule R19).
var errNoOrigin = errors.New("its WebSocket lets in registered origins only, and none is configured")

// originRefused reports whether the WebSocket surely refuses us, and HTTP may be tried instead: only
// the client itself has the fingerprint, and it lets registered origins in (rules R8, R19).
func (c *Client) originRefused(port *provenPort) bool {
	return port.proof == ProofFingerprint && c.opts().Origin == "" && slices.Contains(c.opts().Transports, HTTP)
}

// portTransports are the transports that use a port.
func (c *Client) portTransports() []Transport {
	return slices.DeleteFunc(slices.Clone(c.opts().Transports), func(t Transport) bool { return t == IPC })
}

func (c *Client) target(at location) target {
	return target{
		addr: loopback(at.port.Port), port: at.port.Port, dial: c.opts().DialPort, clientID: c.opts().ClientID, origin: c.opts().Origin, chance: c.opts().Chance,
		same: func() bool { return c.sameOwner(at.port) },
	}
}

func address(at location, tr Transport) Address {
	a := Address{Transport: tr, PID: at.PID, Name: at.Name}
	if tr == IPC {
		a.Socket = at.socket.Path
	} else {
		a.Port = at.port.Port
	}
	return a
}

// runSessions opens a link and holds a session on it, and on those that follow it, to their end.
func (c *Client) runSessions(ctx context.Context, p *peer, at location, tr Transport, port *provenPort, leave <-chan struct{}) (worked bool, err error) {
	to := address(at, tr)
	if err := c.waitForAdmission(ctx, p, to); err != nil {
		return false, err
	}
	c.applySessionOutcome(p, onAdmitted, func(s *Session) {
		if s.State == Slow {
			s.Address = to
			return
		}
		*s = Session{Address: to, Error: s.Error, Remedy: s.Remedy} // the next try may wait in the same line
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
	for counts := tr == IPC || port.counts; ; {
		delivered, err := c.runSession(ctx, p, l, to, counts, leave)
		worked = worked || delivered
		better := c.takeNextLink(p)
		if better == nil {
			return worked, err
		}
		l, to, counts, leave = better.link, address(better.at, better.over), better.counts, better.leave
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

// openLink makes the link, or takes the one that proving the port has made. A connect costs a token
// where the client counts them: only the client itself does, since a server that answers GET in its
// own way follows the specification, which knows of none.
func (c *Client) openLink(ctx context.Context, p *peer, at location, tr Transport, port *provenPort) (l link, err error) {
	counts := tr == IPC || port.counts
	switch {
	case tr == HTTP && port.over == tr:
		l, port.link = port.link, nil
	case tr == HTTP:
		l, err = orNil(openHTTP(ctx, port.target, c.reprove(p, port), counts))
	case port != nil && port.link != nil && port.over == tr:
		l, port.link = port.link, nil
	default:
		l, err = c.connect(ctx, p, at, tr, counts)
	}
	if err == nil && !c.sameOwnerAt(at, tr) { // it was made anew between the look and the connect
		l.close()
		err = errOwnerChanged
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// connect makes a link that has to greet.
func (c *Client) connect(ctx context.Context, p *peer, at location, tr Transport, counts bool) (l link, err error) {
	if counts {
		if err := c.waitForToken(ctx, p); err != nil {
			return nil, err
		}
	}
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
			if errors.Is(err, &Error{Phase: PhaseConnect, Code: CodeAbnormal}) {
				p.bucket.giveBack() // who is sent away from the line has cost none (rule R80)
			}
		}()
	}
	ctx, cancel := c.greetingTimeout(ctx, p, at, tr, counts)
	defer cancel(nil)
	if tr == IPC {
		return orNil(openIPC(ctx, conn, c.opts().ClientID))
	}
	return orNil(openWebSocket(ctx, c.target(at)))
}

// readyLimit is how long the client waits from a connection to the end of its greeting (rule
// R80): a connection that has been kept for a while is none to begin with.
const readyLimit = 10 * time.Second

// socketConn is a fresh connection to the socket.
func (c *Client) socketConn(ctx context.Context, p *peer, at location) (net.Conn, error) {
	c.mu.Lock()
	held := p.inSession
	c.mu.Unlock()
	if held || p.conn == nil {
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

// orNil keeps a nil pointer from becoming a link that is not nil.
func orNil[L link](l L, err error) (link, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// waitForToken waits until the client has a token to give (rule R67).
func (c *Client) waitForToken(ctx context.Context, p *peer) error {
	for {
		wait := p.bucket.linkDelay(time.Now())
		if wait <= 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		c.mu.Lock()
		held := p.inSession // then the status is the session's
		c.mu.Unlock()
		if !held {
			c.updateSession(p, func(s *Session) { s.NextTry = time.Now().Add(wait) })
		}
		sleep(ctx, wait)
		if !held {
			c.updateSession(p, func(s *Session) { s.NextTry = time.Time{} })
		}
	}
}

// greetingTimeout bounds the wait for READY. A client whose tokens are spent, by an agent that ran
// before this one for instance, makes us queue instead of refusing (rule R67), and one that is
// frozen goes on some time. So it is given up only where that gains something: where another
// transport is left, and what holds the port is not the client itself.
func (c *Client) greetingTimeout(ctx context.Context, p *peer, at location, tr Transport, counts bool) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	another, longest := c.hasAnotherTransport(p, at, tr), c.opts().HTTPTimeout
	if c.lastTransport(p) == tr {
		another, longest = false, frozenLimit
	}
	limit := time.AfterFunc(longest, func() { cancel(ErrNoAnswer) })
	check := time.AfterFunc(c.opts().AnswerTimeout, func() {
		queues := counts && (!another || (at.port.Port != 0 && fingerprint(ctx, c.target(at), c.opts().AnswerTimeout) == nil))
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

// frozenLimit bounds the wait for READY of a client that has answered over the same transport
// before: it is frozen. Each connection that is given up takes one of its tokens when it goes on.
const frozenLimit = time.Hour

// lastTransport is the transport over which p has answered last; "" is none since it restarted. A session and a better link
// that is about to follow it both ask.
func (c *Client) lastTransport(p *peer) Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.lastTransport
}

func (c *Client) setLastTransport(p *peer, tr Transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.lastTransport = tr
}

// hasAnotherTransport reports whether a transport is left after tr.
func (c *Client) hasAnotherTransport(p *peer, at location, tr Transport) bool {
	all := c.opts().Transports
	i := slices.Index(all, tr)
	return slices.ContainsFunc(all[i+1:], func(t Transport) bool { return at.offers(t) && c.refusedWith(p, t) == nil })
}

// runSession runs a session on l to its end, and closes l. When the agent stops it first does what the
// policy says.
func (c *Client) runSession(ctx context.Context, p *peer, l link, to Address, counts bool, leave <-chan struct{}) (worked bool, err error) {
	defer l.close()
	start := time.Now()
	c.logOnce(p, "connected", "to", to)
	h := &sessionObserver{Client: c, p: p, to: to, start: start, paced: counts && to.Transport == HTTP}
	c.mu.Lock()
	sent := p.mayHold
	c.mu.Unlock()
	s := &session{
		link: l, to: to, mailbox: p.mailbox, limits: func() limits { return c.opts().answerLimits(to.Transport) }, pacer: newPacer(),
		retry: c.opts().backoff(refusedFirst, refusedMax), observer: h, hasAnswered: p.hasAnswered, mayHold: sent, endWhenIdle: leave,
	}
	c.setInSession(p, true)
	defer c.setInSession(p, false)
	if h.paced {
		s.bucket = p.bucket
		c.logOnce(p, "degraded", "client", to, "reason", c.refusals(p), "remedy", h.httpRemedy())
	}
	err = s.run(ctx)
	p.hasAnswered = s.hasAnswered
	c.setMayHold(p, s.mayHold)
	if !s.first {
		c.setLastTransport(p, to.Transport)
	}
	if time.Since(start) > c.opts().RetryMax {
		p.retryBackoff.reset()
	}
	if cause := context.Cause(ctx); !h.ignored && (errors.Is(cause, errStopping) || errors.Is(cause, errExcluded)) {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts().StopTimeout)
		defer cancel()
		if err := s.farewell(bye, c.opts().OnExit); err != nil {
			c.opts().Log.Warn("the client keeps the last list: it could not be changed", "client", to, "reason", err)
		} else {
			c.farewellDone(p)
		}
	}
	return !s.first, err
}
