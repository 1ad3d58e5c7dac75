package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// collect takes note of the attempts that have ended.
func (c *Client) collect() {
	for _, p := range c.peers {
		if p.run == nil {
			continue
		}
		select {
		case <-p.run.done:
			r := p.run
			p.run = nil
			r.better.drop()
			c.takeNext(p).drop()
			if r.reconsider {
				c.setBackoffs(p)
			}
			c.judge(p, r)
		default:
		}
	}
}

// judge decides what follows the attempt r.
func (c *Client) judge(p *peer, r *run) {
	if r.worked { // the client may be back in a moment
		c.search.reset()
		c.nextSearch, c.since = time.Now().Add(c.search.wait()), time.Now()
	}
	on := c.outcomeOf(p, r)
	if p.differs(r.at) {
		p.answered = false
		c.setWorked(p, "")
		c.forgive(p)
	}
	state := c.follow(p, on)
	retries := p.again
	switch on {
	case onDisplaced:
		if errors.Is(r.err, errReplaced) {
			p.place = place{} // look again who that is
		}
	case onDeaf:
		c.turnDeaf(p.socket, r.err)
		p.socket = Socket{}
	case onNoClient:
		p.stray = r.err
	case onLost, onHung:
		if errors.Is(r.err, ErrLost) && !r.at.traceable() {
			c.forgive(p) // it may have restarted
		}
	case onBarred, onIgnorant, onPresent:
		if p.traceable() {
			p.over, retries = r.err, time.Time{}
		} else {
			c.forgive(p)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.running, p.held, p.greeted, p.ignorant, p.late, p.asked = false, false, false, false, false, false
	p.talking = p.talking && errors.Is(r.err, errMoved) && !r.yields // then it goes on in a moment
	defer c.wakeAll()
	if on == onPresent {
		return
	}
	before := p.status
	p.status = Session{State: state, Address: addressOf(r.at)}
	if state == Slow {
		p.status = before
	}
	if r.err != nil && on != onDisplaced {
		p.status.NextTry, p.status.Error, p.status.Remedy = retries, r.err.Error(), Remedy(r.err)
		if on != onNoClient {
			c.once(p, "not connected", "client", p.status.Address, "reason", r.err, "remedy", p.status.Remedy)
		}
	}
}

// outcomeOf says what the attempt r has shown of p.
func (c *Client) outcomeOf(p *peer, r *run) outcome {
	var refusal *Error
	anew := p.differs(r.at) // then what it said was said before it restarted
	switch err := r.err; {
	case errors.Is(err, errMoved), errors.Is(err, errYield), errors.Is(err, errReplaced), errors.Is(err, errDropped):
		return onDisplaced
	case errors.Is(err, errPresent):
		r.err = p.over
		return onPresent
	case errors.Is(err, errDeaf) && !anew:
		return onDeaf
	case errors.Is(err, errStranger) && r.at.socket.Path == "":
		return onNoClient
	case errors.Is(err, ErrNoClient):
		return onNobody
	case (c.hopeless(p) || unsupported(err)) && anew:
		return onRestarted
	case unsupported(err):
		return onIgnorant
	case c.hopeless(p):
		return onBarred
	case errors.As(err, &refusal) && refusal.Phase == PhaseConnect && refusal.Code != CodeClosed && refusal.Code != CodeAbnormal:
		return onTurnedAway
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

func addressOf(p place) Address {
	a := Address{PID: p.PID, Name: p.Name, Socket: p.socket.Path}
	if a.Socket == "" {
		a.Port = p.port.Port
	}
	return a
}

// prune forgets the clients that have gone, and ends attempts that there is no more reason for.
func (c *Client) prune() {
	gone := func(p *peer) bool { return p.empty() && p.run == nil }
	for _, p := range c.peers {
		switch {
		case gone(p):
			p.dropConn()
		case p.run == nil, p.run.dropped: // its farewell is under way
		case p.empty() && c.premature(p):
			p.run.cancel(errYield)
		case c.surplus(p):
			p.run.drop()
		case c.mustYield(p):
			c.yield(p)
		default:
			c.improve(p)
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

// premature reports whether p has no session yet.
func (c *Client) premature(p *peer) bool {
	switch c.stateOf(p) {
	case Searching, stranger, Connecting, Waiting:
		return true
	default:
		return false
	}
}

// yield ends an attempt that may no longer go on. A list in flight is waited for: what the client
// has in its line must not overtake what is sent on another way.
func (c *Client) yield(p *peer) {
	c.mu.Lock()
	held := p.held
	c.mu.Unlock()
	p.run.yields = true
	if !held {
		p.run.cancel(errYield)
		return
	}
	p.run.end()
}

// drop ends r with a farewell.
func (r *run) drop() {
	r.dropped = true
	r.cancel(errDropped)
}

// dropping reports whether a farewell is under way. It may be to a client that is also found in
// another place: it must not arrive after what that is sent.
func (c *Client) dropping() bool {
	return slices.ContainsFunc(c.peers, func(p *peer) bool { return p.run != nil && p.run.dropped })
}

// end makes the session of r end as soon as nothing is in flight.
func (r *run) end() {
	select {
	case <-r.leave:
	default:
		close(r.leave)
	}
}

func (c *Client) holding(p *peer, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.held = on
}

// start begins an attempt with each client whose time has come.
func (c *Client) start(ctx context.Context, tick bool) {
	now := time.Now()
	me := c.opts().Local.User()
	dropping := c.dropping()
	for _, p := range c.peers {
		switch state := c.stateOf(p); {
		case p.run != nil || p.again.After(now) || dropping:
		case state == stranger && p.doubt.grown() && !tick:
		case p.foreign(me) && state == Foreign:
		case p.foreign(me):
			p.dropConn()
			c.follow(p, onOtherUser)
			reason, remedy := p.strange(me)
			c.set(p, func(s *Session) {
				*s = Session{State: Foreign, Address: addressOf(p.place), Error: reason, Remedy: remedy}
			})
			c.once(p, "client of another user is left alone", "client", addressOf(p.place), "reason", reason)
		default:
			c.begin(ctx, p)
		}
	}
}

// foreign reports whether p belongs to another user than me, as far as can be told. A socket whose
// owner is unknown is nobody's whom names and ids may go to (rule R6): where a user's own clients
// are, the system tells whose they are.
func (p *peer) foreign(me string) bool {
	if p.UID == "" {
		return p.socket.Path != ""
	}
	return me != "" && p.UID != me
}

// strange says why p is foreign, and what to do.
func (p *peer) strange(me string) (reason, remedy string) {
	if p.UID == "" {
		return "whose the socket is cannot be told", "run the client and the agent as the same user, and neither of them as administrator"
	}
	return fmt.Sprintf("it belongs to user %s, the agent runs as user %s", p.UID, me), "run an agent in that user's session"
}

func (c *Client) begin(ctx context.Context, p *peer) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &run{
		at: p.place, ctx: ctx, cancel: cancel, leave: make(chan struct{}), done: make(chan struct{}),
		trials: c.opts().backoff(c.opts().RefusedWait, max(refusedMax, c.opts().RefusedWait)),
	}
	p.run = r
	c.mu.Lock()
	p.running = true
	c.mu.Unlock()
	at, leave, over := r.at, r.leave, p.over
	go func() {
		defer ring(c.ended)
		defer close(r.done)
		defer cancel(nil)
		if over != nil {
			r.err = c.check(ctx, at)
		} else {
			r.worked, r.err = c.attempt(ctx, p, at, leave)
		}
		if cause := context.Cause(ctx); cause != nil {
			r.err = cause
		}
	}()
}

// errPresent means that somebody still listens.
var errPresent = errors.New("it is still there")

// check finds out whether a client that was given up is still there: a killed one leaves its
// socket behind.
func (c *Client) check(ctx context.Context, at place) error {
	if at.socket.Path == "" {
		return errPresent
	}
	conn, err := c.dialSocket(ctx, at)
	if err == nil {
		_ = conn.Close()
		err = errPresent
	}
	return err
}
