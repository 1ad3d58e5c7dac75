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
			c.judge(p, r)
		default:
		}
	}
}

// judge decides what follows the attempt r.
func (c *Client) judge(p *peer, r *run) {
	err := r.err
	var refusal *Error
	status := Session{State: Connecting, Address: addressOf(r.at)}
	if r.worked { // the client may be back in a moment
		c.search.reset()
		c.nextSearch = time.Now().Add(c.search.wait())
	}
	p.again = time.Time{}
	restarted := p.differs(r.at)
	if restarted {
		clear(p.refused)
	}
	switch {
	case errors.Is(err, errReplaced):
		p.place = place{} // look again who that is
	case ofThePlace(err):
	case errors.Is(err, errDeaf) && !restarted:
		c.turnDeaf(p.socket, err)
		p.socket = Socket{}
		status.State = Searching
	case errors.Is(err, errStranger) && r.at.socket.Path == "":
		p.stranger, p.again = err, time.Now().Add(p.doubt.wait())
		status.State = Searching // not a session
	case errors.Is(err, ErrNoClient):
		p.again = time.Now().Add(p.retry.wait())
		status.State = Searching
	case c.hopeless(p) || unsupported(err):
		status.State = Refused
		if unsupported(err) {
			status.State = Unsupported
		}
		switch {
		case restarted: // that was said by the client before it restarted
			p.again = time.Now().Add(p.retry.wait())
		case p.traceable():
			p.over = err
		default:
			clear(p.refused)
			p.again = time.Now().Add(p.sulk.wait())
		}
	case errors.As(err, &refusal):
		status.State = Refused
		wait := p.retry.wait()
		if refusal.Phase == PhaseConnect && refusal.Code != CodeClosed {
			wait = p.sulk.wait()
		}
		p.again = time.Now().Add(wait)
	default:
		if errors.Is(err, ErrLost) && !r.at.traceable() {
			clear(p.refused) // it may have restarted
		}
		p.again = time.Now().Add(p.retry.wait())
	}
	if err != nil && !ofThePlace(err) {
		status.NextTry, status.Error, status.Remedy = p.again, err.Error(), Remedy(err)
		if p.stranger == nil {
			c.once(p, "not connected", "client", status.Address, "reason", err, "remedy", status.Remedy)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.running, p.status = false, status
	p.talking = p.talking && errors.Is(err, errMoved) // then it goes on in a moment
	c.wakeAll()
}

// hopeless reports whether the client has refused all that it offers for as long as it runs.
func (c *Client) hopeless(p *peer) bool {
	return len(p.refused) > 0 && !slices.ContainsFunc(c.opts.Transports, func(t Transport) bool { return p.offers(t) && p.refused[t] == nil })
}

// ofThePlace reports whether err says nothing of the client.
func ofThePlace(err error) bool {
	return errors.Is(err, errMoved) || errors.Is(err, errYield) || errors.Is(err, errReplaced)
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
		case p.run == nil:
		case p.empty() && slices.Contains([]State{Searching, Connecting, Waiting}, c.stateOf(p)), c.mustYield(p):
			p.run.cancel(errYield)
		case p.run.at.socket.Path == "" && p.socket.Path != "" && c.prefersIPC(p):
			c.move(p)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = slices.DeleteFunc(c.peers, gone)
}

// move makes p's attempt end for a better one. A list in flight is waited for: what the client
// has in its line must not overtake what is sent on another way.
func (c *Client) move(p *peer) {
	c.mu.Lock()
	held := p.held
	c.mu.Unlock()
	if !held {
		p.run.cancel(errMoved)
		return
	}
	select {
	case <-p.run.leave:
	default:
		close(p.run.leave)
	}
}

func (c *Client) holding(p *peer, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.held = on
}

// prefersIPC reports whether p should leave what it talks over now for its socket.
func (c *Client) prefersIPC(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := slices.Index(c.opts.Transports, p.status.Transport)
	ipc := slices.Index(c.opts.Transports, IPC)
	return ipc >= 0 && ipc < now
}

// start begins an attempt with each client whose time has come.
func (c *Client) start(ctx context.Context, tick bool) {
	now := time.Now()
	me := c.opts.Local.User()
	for _, p := range c.peers {
		switch {
		case p.run != nil || p.over != nil || p.again.After(now):
		case p.stranger != nil && p.doubt.grown() && !tick:
		case p.foreign(me) && c.stateOf(p) == Foreign:
		case p.foreign(me):
			p.dropConn()
			reason, remedy := p.strange(me)
			c.set(p, func(s *Session) {
				*s = Session{State: Foreign, Address: addressOf(p.place), Error: reason, Remedy: remedy}
			})
			c.once(p, "client of another user is left alone", "client", addressOf(p.place), "reason", reason)
		default:
			p.stranger = nil
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
	if left, ok := c.legacy[p.place]; ok {
		p.bucket.next = left.next
		delete(c.legacy, p.place)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &run{at: p.place, cancel: cancel, leave: make(chan struct{}), done: make(chan struct{})}
	p.run = r
	c.mu.Lock()
	p.running = true
	p.ownerUnknown = p.socket.Path == "" && p.PID == 0
	p.socketAlone = p.socket.Path != "" && p.port.Port == 0
	c.mu.Unlock()
	go func() {
		defer ring(c.ended)
		defer close(r.done)
		defer cancel(nil)
		r.worked, r.err = c.attempt(ctx, p, r.at, r.leave)
		if cause := context.Cause(ctx); cause != nil {
			r.err = cause
		}
	}()
}
