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
	status := Session{State: Connecting, Address: addressOf(p.place)}
	p.again = time.Time{}
	restarted := p.differs(r.at)
	if restarted {
		clear(p.given)
	}
	switch {
	case errors.Is(err, errMoved), errors.Is(err, errYield):
	case errors.Is(err, errReplaced):
		p.place = place{} // look again who that is
	case errors.Is(err, errDeaf) && !restarted:
		c.turnDeaf(p.socket, err)
		p.socket = Socket{}
		status.State = Searching
	case errors.Is(err, errStranger) && r.at.socket.Path == "":
		p.other, p.again = err, time.Now().Add(p.doubt.wait())
		status.State = Searching // not a session
	case errors.Is(err, ErrNoClient):
		p.again = time.Now().Add(p.retry.wait())
		status.State = Searching
	case c.hopeless(p) || unsupported(err):
		status.State = Refused
		if unsupported(err) {
			status.State = Unsupported
		}
		if p.traceable() && !restarted {
			p.over = err
			break
		}
		clear(p.given)
		p.again = time.Now().Add(p.sulk.wait())
	case errors.As(err, &refusal):
		status.State = Refused
		wait := p.retry.wait()
		if refusal.Phase == PhaseConnect && refusal.Code != CodeClosed {
			wait = p.sulk.wait()
		}
		p.again = time.Now().Add(wait)
	default:
		if errors.Is(err, ErrLost) && !r.at.traceable() {
			clear(p.given) // it may have restarted
		}
		p.again = time.Now().Add(p.retry.wait())
	}
	if err != nil && !errors.Is(err, errMoved) && !errors.Is(err, errYield) && !errors.Is(err, errReplaced) {
		status.NextTry, status.Error, status.Remedy = p.again, err.Error(), Remedy(err)
		if p.other == nil {
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
	return len(p.given) > 0 && !slices.ContainsFunc(c.opts.Transports, func(t Transport) bool { return p.offers(t) && p.given[t] == nil })
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
			p.run.cancel(errMoved)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = slices.DeleteFunc(c.peers, gone)
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
		case p.other != nil && !tick:
		case p.foreign(me):
			p.dropConn()
			c.set(p, func(s *Session) {
				*s = Session{
					State: Foreign, Address: addressOf(p.place),
					Error:  fmt.Sprintf("it belongs to user %s, the agent runs as user %s", p.UID, me),
					Remedy: "run an agent in that user's session",
				}
			})
		default:
			p.other = nil
			c.begin(ctx, p)
		}
	}
}

// foreign reports whether p belongs to another user than me.
func (p *peer) foreign(me string) bool { return me != "" && p.UID != "" && p.UID != me }

func (c *Client) begin(ctx context.Context, p *peer) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &run{at: p.place, cancel: cancel, done: make(chan struct{})}
	p.run = r
	c.mu.Lock()
	p.running, p.alone = true, p.socket.Path == "" && p.PID == 0
	c.mu.Unlock()
	go func() {
		defer ring(c.ended)
		defer close(r.done)
		defer cancel(nil)
		r.worked, r.err = c.attempt(ctx, p, r.at)
		if cause := context.Cause(ctx); cause != nil {
			r.err = cause
		}
	}()
}
