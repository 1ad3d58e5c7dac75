package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sidetone/internal/local"
)

// collectEnded takes note of the attempts that have ended.
func (c *Client) collectEnded() {
	for _, p := range c.peers {
		if p.attempt == nil {
			continue
		}
		select {
		case <-p.attempt.done:
			r := p.attempt
			p.attempt = nil
			r.upgrade.close()
			c.takeNextLink(p).close()
			if r.settingsChanged {
				c.setBackoffs(p)
			}
			c.handleResult(p, r)
		default:
		}
	}
}

// handleResult decides what follows the attempt r.
func (c *Client) handleResult(p *peer, r *attempt) {
	if r.delivered { // the client may be back in a moment
		c.restartSearch()
		c.pauseSearch()
	}
	on := c.outcomeOf(p, r)
	if p.changedSince(r.at) {
		p.hasAnswered = false
		c.setLastTransport(p, "")
		c.forgetRefusals(p)
	}
	state := c.applyOutcome(p, on)
	retries := p.nextTry
	switch on {
	case onReplaced:
		if errors.Is(r.err, errOwnerChanged) {
			p.location = location{} // look again who that is
		}
	case onSocketUnreachable:
		c.markUnreachable(p.socket, r.err)
		p.socket = local.Socket{}
	case onNotClient:
		p.notClientReason = r.err
	case onLost, onHung:
		if errors.Is(r.err, ErrLost) && !r.at.showsRestarts() {
			c.forgetRefusals(p) // it may have restarted
		}
	case onAllRefused, onUnknownCommand, onStillListening:
		if p.showsRestarts() {
			p.givenUp, retries = r.err, time.Time{}
		} else {
			c.forgetRefusals(p)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.running, p.inSession, p.greeted, p.commandUnknown, p.probeIsSlow, p.probing = false, false, false, false, false, false
	p.admitted = p.admitted && errors.Is(r.err, errMoved) && !r.yielding // then it goes on in a moment
	defer c.notifyAll()
	if on == onStillListening {
		return
	}
	before := p.status
	p.status = Session{State: state, Address: addressOf(r.at)}
	if state == Slow {
		p.status = before
	}
	if r.err != nil && on != onReplaced {
		p.status.NextTry, p.status.Error, p.status.Remedy = retries, r.err.Error(), Remedy(r.err)
		if on != onNotClient {
			c.logOnce(p, "not connected", "client", p.status.Address, "reason", r.err, "remedy", p.status.Remedy)
		}
	}
}

// outcomeOf says what the attempt r has shown of p.
func (c *Client) outcomeOf(p *peer, r *attempt) outcome {
	var refusal *Error
	anew := p.changedSince(r.at) // then what it said was said before it restarted
	switch err := r.err; {
	case errors.Is(err, errMoved), errors.Is(err, errYielded), errors.Is(err, errOwnerChanged), errors.Is(err, errExcluded):
		return onReplaced
	case errors.Is(err, errStillListening):
		r.err = p.givenUp
		return onStillListening
	case errors.Is(err, errUnreachable) && !anew:
		return onSocketUnreachable
	case errors.Is(err, errNotClient) && r.at.socket.Path == "":
		return onNotClient
	case errors.Is(err, ErrNoClient):
		return onPortClosed
	case (c.allRefused(p) || unsupported(err)) && anew:
		return onRestarted
	case unsupported(err):
		return onUnknownCommand
	case c.allRefused(p):
		return onAllRefused
	case errors.As(err, &refusal) && refusal.Phase == PhaseConnect && refusal.Code != CodeClosed && refusal.Code != CodeAbnormal:
		return onRefusedForNow
	case errors.As(err, &refusal):
		return onClosed
	case errors.Is(err, ErrNoAnswer):
		return onHung
	default:
		return onLost
	}
}

// unsupported reports whether err is that of a client that does not know the command.
func unsupported(err error) bool {
	return errors.Is(err, ErrUnsupported) || errors.Is(err, &Error{Phase: PhaseCommand, Code: codeUnknownCommand})
}

func addressOf(p location) Address {
	a := Address{PID: p.PID, Name: p.Name, Socket: p.socket.Path}
	if a.Socket == "" {
		a.Port = p.port.Port
	}
	return a
}

// prune forgets the clients that have gone, and ends attempts that there is no more reason for.
func (c *Client) prune() {
	gone := func(p *peer) bool { return p.empty() && p.attempt == nil }
	for _, p := range c.peers {
		switch {
		case gone(p):
			p.dropConn()
		case p.attempt == nil, p.attempt.excluded: // its farewell is under way
		case p.empty() && c.beforeSession(p):
			p.attempt.cancel(errYielded)
		case c.surplus(p):
			p.attempt.exclude()
		case c.mustYield(p):
			c.yield(p)
		default:
			c.upgrade(p)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := c.peers[:0]
	for _, p := range c.peers {
		if !gone(p) {
			keep = append(keep, p)
		}
	}
	clear(c.peers[len(keep):])
	c.peers = keep
}

// beforeSession reports whether p has no session yet.
func (c *Client) beforeSession(p *peer) bool {
	switch c.stateOf(p) {
	case Searching, occupied, Connecting, Waiting:
		return true
	default:
		return false
	}
}

// yield ends an attempt that may no longer go on. A list in flight is waited for: what the client
// has in its line must not overtake what is sent on another way.
func (c *Client) yield(p *peer) {
	c.mu.Lock()
	held := p.inSession
	c.mu.Unlock()
	p.attempt.yielding = true
	if !held {
		p.attempt.cancel(errYielded)
		return
	}
	p.attempt.finish()
}

// exclude ends r with a farewell.
func (r *attempt) exclude() {
	r.excluded = true
	r.cancel(errExcluded)
}

// farewellUnderWay reports whether a farewell is under way. It may be to a client that is also found in
// another place: it must not arrive after what that is sent.
func (c *Client) farewellUnderWay() bool {
	return slices.ContainsFunc(c.peers, func(p *peer) bool { return p.attempt != nil && p.attempt.excluded })
}

// finish makes the session of r end as soon as nothing is in flight.
func (r *attempt) finish() {
	select {
	case <-r.endWhenIdle:
	default:
		close(r.endWhenIdle)
	}
}

func (c *Client) setInSession(p *peer, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.inSession = on
}

// startAttempts begins an attempt with each client whose time has come.
func (c *Client) startAttempts(ctx context.Context, tick bool) {
	now := time.Now()
	me := c.opts().Local.User()
	dropping := c.farewellUnderWay()
	for _, p := range c.peers {
		switch state := c.stateOf(p); {
		case p.attempt != nil || p.nextTry.After(now) || dropping:
		case state == occupied && p.probeBackoff.grown() && !tick:
		case p.ofOtherUser(me) && state == Foreign:
		case p.ofOtherUser(me):
			p.dropConn()
			c.applyOutcome(p, onOtherUser)
			reason, remedy := p.foreignReason(me)
			c.updateSession(p, func(s *Session) {
				*s = Session{State: Foreign, Address: addressOf(p.location), Error: reason, Remedy: remedy}
			})
			c.logOnce(p, "client of another user is left alone", "client", addressOf(p.location), "reason", reason)
		default:
			c.startAttempt(ctx, p)
		}
	}
}

// ofOtherUser reports whether p belongs to another user than me, as far as can be told. A socket whose
// owner is unknown is nobody's whom names and ids may go to (rule R6): where a user's own clients
// are, the system tells whose they are.
func (p *peer) ofOtherUser(me string) bool {
	if p.UID == "" {
		return p.socket.Path != ""
	}
	return me != "" && p.UID != me
}

// foreignReason says why p is foreign, and what to do.
func (p *peer) foreignReason(me string) (reason, remedy string) {
	if p.UID == "" {
		return "whose the socket is cannot be told", "run the client and the agent as the same user, and neither of them as administrator"
	}
	return fmt.Sprintf("it belongs to user %s, the agent runs as user %s", p.UID, me), "run an agent in that user's session"
}

func (c *Client) startAttempt(ctx context.Context, p *peer) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &attempt{
		at: p.location, ctx: ctx, cancel: cancel, endWhenIdle: make(chan struct{}), done: make(chan struct{}),
		upgradeBackoff: c.opts().backoff(c.opts().RefusedWait, max(refusedMax, c.opts().RefusedWait)),
	}
	p.attempt = r
	c.mu.Lock()
	p.running = true
	c.mu.Unlock()
	at, leave, over := r.at, r.endWhenIdle, p.givenUp
	go func() {
		defer c.attemptChanged.Notify()
		defer close(r.done)
		defer cancel(nil)
		if over != nil {
			r.err = c.checkListening(ctx, at)
		} else {
			r.delivered, r.err = c.tryTransports(ctx, p, at, leave)
		}
		if cause := context.Cause(ctx); cause != nil {
			r.err = cause
		}
	}()
}

// errStillListening means that somebody still listens.
var errStillListening = errors.New("it is still there")

// checkListening finds out whether a client that was given up is still there: a killed one leaves its
// socket behind.
func (c *Client) checkListening(ctx context.Context, at location) error {
	if at.socket.Path == "" {
		return errStillListening
	}
	conn, err := c.dialSocket(ctx, at)
	if err == nil {
		_ = conn.Close()
		err = errStillListening
	}
	return err
}
