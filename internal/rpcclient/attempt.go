package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/session"
)

// collectEnded handles the attempts that have ended.
func (c *Client) collectEnded() {
	for _, p := range c.peers {
		r := p.attempt
		if r == nil {
			continue
		}
		select {
		case <-r.done:
			p.attempt = nil
			c.closeLinks(p, r)
			if r.settingsChanged {
				c.setBackoffs(p)
			}
			c.handleResult(p, r)
		default:
		}
	}
}

// closeLinks waits for the end of the attempt r with p, and closes the links that were opened beside its session.
func (c *Client) closeLinks(p *peer, r *attempt) {
	<-r.done
	r.upgrade.Close()
	c.takeNextLink(p).Close()
}

// handleResult decides what follows from the attempt r, which has ended.
func (c *Client) handleResult(p *peer, r *attempt) {
	if r.delivered { // the client may be back in a moment
		c.restartSearch()
		c.pauseSearch()
	}
	on := c.outcomeOf(p, r)
	if on == onUnheard { // whoever had been behind the relay has ended, and its tokens with it
		p.bucket.SetFull(time.Time{})
		c.memory.forget(c.keyOf(p, r.at))
	}
	if p.changedSince(r.at) || on == onUnheard {
		p.hasAnswered, p.hasGreeted = false, false
		c.locked(func() { p.lastTransport, p.silent = "", false })
		c.forgetRefusals(p)
	}
	state := c.applyOutcome(p, on)
	retries := p.nextTry
	switch on {
	case onInterrupted:
		if errors.Is(r.err, errOwnerChanged) {
			p.location = location{} // the next scan finds it anew
		}
	case onSocketUnreachable:
		c.markUnreachable(p.socket, r.err)
		p.socket = local.Socket{}
	case onPortClosed:
		c.unlisted.closed(r.at.port.Port)
	case onNotClient:
		p.notClientReason = r.err
	case onLost, onHung:
		if errors.Is(r.err, link.ErrLost) && !r.at.showsRestarts() { // it may have restarted
			p.hasGreeted = false
			c.forgetRefusals(p)
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
	p.progress = progress{}
	p.admitted = p.admitted && errors.Is(r.err, errReconnect) && !r.yielding // the next attempt follows at once
	defer c.notifyAll()
	if on == onStillListening {
		return
	}
	if state != Slow { // whose status still says what the client may hold
		p.status = Session{State: state, Address: r.at.address("")}
		if state == Refused && !p.changedSince(r.at) {
			p.status.Muted = session.MutedIn(p.mayHold)
		}
	}
	if r.err != nil && on != onInterrupted {
		p.status.NextTry, p.status.Error, p.status.Reason = retries, r.err.Error(), reasonOf(r.err)
		if on != onNotClient {
			c.logOnce(p, "not connected", "client", p.status.Address, "reason", r.err, remedy(r.err))
		}
	}
}

// outcomeOf returns what the attempt r has shown about p.
func (c *Client) outcomeOf(p *peer, r *attempt) outcome {
	var refusal *link.Refusal
	restarted := p.changedSince(r.at) // then what it said no longer counts
	switch err := r.err; {
	case errors.Is(err, errReconnect), errors.Is(err, errOwnerChanged), errors.Is(err, errExcluded):
		return onInterrupted
	case errors.Is(err, errStillListening):
		r.err = p.givenUp
		return onStillListening
	case errors.Is(err, errUnreachable) && !restarted:
		return onSocketUnreachable
	case errors.Is(err, errNotClient) && !r.at.hasSocket():
		return onNotClient
	case errors.Is(err, link.ErrNoClient):
		return onPortClosed
	case (c.allRefused(p) || isUnsupported(err)) && restarted:
		return onRestarted
	case isUnsupported(err):
		return onUnknownCommand
	case c.allRefused(p):
		return onAllRefused
	case errors.As(err, &refusal) && refusal.Phase == link.PhaseConnect &&
		refusal.Code != link.CodeClosed && refusal.Code != link.CodeAbnormal:
		return onRefusedForNow
	case errors.As(err, &refusal):
		return onClosed
	case errors.Is(err, link.ErrNoAnswer):
		return onHung
	case errors.Is(err, link.ErrUnheard):
		return onUnheard
	default:
		return onLost
	}
}

// isUnsupported reports whether err shows a client that does not know the command.
func isUnsupported(err error) bool {
	return errors.Is(err, session.ErrUnsupported) || errors.Is(err, &link.Refusal{Phase: link.PhaseCommand, Code: link.CodeUnknownCommand})
}

// prune forgets the clients that have gone, and ends attempts that may not go on.
func (c *Client) prune() {
	gone := func(p *peer) bool { return p.empty() && p.attempt == nil }
	// The state alone does not tell: before its first answer a session is Connecting, but the client may already hold the list, and the
	// connection works without the socket over which it was opened.
	hasNoSession := func(p *peer) bool {
		return read(c, func() bool {
			return !p.inSession && slices.Contains([]State{Searching, occupied, Connecting, Waiting}, p.status.State)
		})
	}
	for _, p := range c.peers {
		switch {
		case gone(p):
			p.dropConn()
		case p.attempt == nil, p.attempt.excluded: // its farewell is under way
		case p.empty() && hasNoSession(p):
			p.attempt.exclude() // a session may have begun just now
		case c.isSurplus(p):
			p.attempt.exclude()
		case c.mustYield(p):
			c.yield(p)
		default:
			c.upgrade(p)
		}
	}
	c.locked(func() { c.peers = slices.DeleteFunc(c.peers, gone) })
}

// yield ends an attempt that may not go on. It waits for the answer to a list in flight: the client
// may take what is in its queue at any time, even after a newer list over another connection.
func (c *Client) yield(p *peer) {
	p.attempt.yielding = true
	if c.inSession(p) {
		p.attempt.finish()
		return
	}
	p.attempt.cancel(errReconnect)
}

// exclude ends r with a farewell.
func (r *attempt) exclude() {
	r.excluded = true
	r.cancel(errExcluded)
}

// farewellUnderWay reports whether a farewell is being sent. Its client may have been found at another
// location as well, where nothing may be sent before the farewell has arrived.
func (c *Client) farewellUnderWay() bool {
	return slices.ContainsFunc(c.peers, func(p *peer) bool { return p.attempt != nil && p.attempt.excluded })
}

// startAttempts starts an attempt with each client that is due. search says that the timer or a new
// list has triggered this scan.
func (c *Client) startAttempts(ctx context.Context, search bool) {
	now, me := time.Now(), c.opts().Local.User()
	if c.farewellUnderWay() {
		return
	}
	for _, p := range c.peers {
		switch state, reason := c.stateOf(p), p.foreignReason(me); {
		case p.attempt != nil || p.nextTry.After(now):
		case state == occupied && p.probeBackoff.AtCeiling() && !search:
		case reason != nil && state == Foreign:
		case reason != nil:
			p.dropConn()
			c.applyOutcome(p, onOtherUser)
			c.lookAgainLater(p)
			phrase := health.English.Phrase(*reason)
			c.updateSession(p, func(s *Session) {
				*s = Session{State: Foreign, Address: p.address(""), Error: phrase, Reason: reason}
			})
			c.logOnce(p, "client is left alone", "client", p.address(""), "reason", phrase)
		default:
			c.startAttempt(ctx, p)
		}
	}
}

// foreignReason says why p may not be talked to: it belongs to another user than me, to another log-in session, or runs with more rights
// than this process; nil: none of these, as far as the system tells. A socket of unknown owner counts as another user's (rule R6): the
// system always tells the owner of a user's own clients.
func (p *peer) foreignReason(me string) *health.Condition {
	why := &health.Condition{Severity: health.Problem}
	switch {
	case p.Denied:
		why.Code = health.ClientElevated
	case p.UID == "" && (p.hasSocket() || p.OtherSession):
		why.Code = health.OwnerUnknown
	case p.UID != "" && me != "" && p.UID != me:
		why.Code, why.Args = health.OtherOwner, health.Args{"owner": p.UID, "own": me}
	case p.OtherSession:
		why.Code = health.OtherSession
	default:
		return nil
	}
	return why
}

func (c *Client) startAttempt(ctx context.Context, p *peer) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	endWhenIdle, finish := context.WithCancel(context.Background())
	r := &attempt{
		at: p.location, ctx: ctx, cancel: cancel, finish: finish, done: make(chan struct{}),
		upgradeBackoff: c.opts().backoff(c.opts().RefusedWait, max(refusedMax, c.opts().RefusedWait)),
	}
	p.attempt = r
	if known, _ := c.memory.find(c.keyOf(p, r.at)); p.bucket.Full().IsZero() {
		p.bucket.SetFull(known.TokensFull)
	}
	c.locked(func() { p.running = true })
	at, givenUp := r.at, p.givenUp != nil // copies: handOver changes r
	go func() {
		defer c.attemptChanged.Notify()
		defer close(r.done)
		defer cancel(nil)
		if givenUp {
			r.err = c.checkListening(ctx, at)
		} else {
			r.delivered, r.err = c.tryTransports(ctx, endWhenIdle, p, at)
		}
		if isUnsupported(r.err) && at.hasSocket() { // it may have ended behind a relay
			if deserted := c.checkListening(ctx, at); errors.Is(deserted, link.ErrUnheard) {
				r.err = deserted
			}
		}
		if cause := context.Cause(ctx); cause != nil {
			r.err = cause
		}
	}()
}

// checkListening returns errStillListening if a client that was given up is still there: a killed one leaves its socket behind, and a relay
// with no client behind it closes the connection at once.
func (c *Client) checkListening(ctx context.Context, at location) error {
	if !at.hasSocket() {
		return errStillListening
	}
	conn, err := c.dialSocket(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(c.opts().ProbeTimeout))
	_, err = conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return errStillListening
	}
	return fmt.Errorf("%w, %w: %w", link.ErrLost, link.ErrUnheard, err)
}
