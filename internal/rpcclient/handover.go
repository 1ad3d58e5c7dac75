package rpcclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
)

// ErrHandover is the cause for which the context of Run ends when another agent takes over. Clients keep the list that they
// have. Run can be called again if the other agent fails.
var ErrHandover = errors.New("another agent takes over")

// KnownClient is what the next agent has to know of one client until that restarts. That the client was silent is not part of it: it may
// have been frozen, and is asked again.
type KnownClient struct {
	Socket  local.Socket   `json:"socket,omitzero"`
	Port    local.Listener `json:"port,omitzero"`
	Process local.Process  `json:"process,omitzero"`

	TokensFull time.Time                   `json:"tokens_full,omitzero"` // when it has all of its tokens again; zero: it has
	TokensIn   time.Duration               `json:"tokens_in,omitempty"`  // until then; 0: of an older agent, or it has
	Served     bool                        `json:"served,omitempty"`     // it was admitted
	Answered   bool                        `json:"answered,omitempty"`   // it has answered the command
	Over       Transport                   `json:"over,omitempty"`       // the transport of the last answer
	Proof      *Proof                      `json:"proof,omitempty"`      // of the port; nil: the free one
	Refused    map[Transport]*link.Refusal `json:"refused,omitempty"`    // why it refuses transports until it restarts
	GivenUp    *link.Refusal               `json:"given_up,omitempty"`   // why nothing is tried until it restarts
	Status     *Session                    `json:"status,omitempty"`     // while nothing is sent before its NextTry
	RetryIn    time.Duration               `json:"retry_in,omitempty"`   // until then; 0: of an older agent
	Waits      []time.Duration             `json:"waits,omitempty"`      // next waits after a lost connection and after a refusal
	MayHold    *devices.Snapshot           `json:"may_hold,omitempty"`   // the last list that it was sent and has not refused
}

// same reports whether l describes p.
func (l *KnownClient) same(p *peer) bool {
	was := l.location()
	samePort := was.hasPort() && was.port.Port == p.port.Port && was.port.ID == p.port.ID
	return was.PID == p.PID && (was.hasSocket() && was.socket == p.socket || samePort)
}

func (l *KnownClient) location() location { return location{l.Socket, l.Port, l.Process} }

// KnownClients returns what was known of clients when Run ended with ErrHandover.
func (c *Client) KnownClients() []KnownClient {
	return read(c, func() []KnownClient { return slices.Clone(c.knownClients) })
}

// Restore makes Run start with what another agent knew that long ago. It must be called before Run.
func (c *Client) Restore(known []KnownClient, age time.Duration) {
	known = slices.Clone(known)
	for i := range known {
		known[i].toldAt(time.Now().Add(-age))
	}
	c.locked(func() { c.knownClients = known })
}

// toldAt replaces the times of another process, whose wall clock may have been set since, by those of this one.
func (l *KnownClient) toldAt(then time.Time) {
	if l.TokensIn > 0 {
		l.TokensFull = then.Add(l.TokensIn)
	}
	if l.Status != nil && l.RetryIn > 0 {
		l.Status = new(*l.Status)
		l.Status.NextTry = then.Add(l.RetryIn)
	}
}

// HandoverDelay returns how long to wait until another agent can connect to all clients at once, because each has a token for it, and
// the session with a client that does not answer; nil: all do. Clients that have answered before and are being connected to come first.
func (c *Client) HandoverDelay() (wait time.Duration, slow *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.knownClients) > 0 {
		wait = retryFirst
	}
	for _, p := range c.peers {
		if p.status.State == Slow {
			slow = new(p.status)
		}
		switch tr := p.status.Transport; {
		case p.running && !p.inSession && p.lastTransport != "" && p.status.State == Connecting,
			p.probing && !p.probeIsSlow && !p.inSession, // giving up would cost a token as well, and in the next case
			p.inSession && tr == HTTP && p.status.State == Connecting:
			wait = max(wait, retryFirst)
		case p.inSession && p.linkMayCost && tr != HTTP:
			wait = max(wait, p.bucket.LinkDelay(time.Now()), c.sharedDelay(p, time.Now()))
		}
	}
	return wait, slow
}

// sharedDelay returns how long to wait for a token of p if the peers that may be the same client are: then all of them
// have spent tokens of one client. mu is held.
func (c *Client) sharedDelay(p *peer, now time.Time) time.Duration {
	spent, next := p.bucket.Outstanding(now)
	for _, q := range c.peers {
		if maybeSameClient(p, q) || maybeSameClient(q, p) {
			n, again := q.bucket.Outstanding(now)
			spent, next = spent+n, max(next, again)
		}
	}
	if spent < c.opts().Tokens {
		return 0
	}
	return next
}

// leave ends all sessions as soon as nothing is in flight on them, without a farewell, and stores what is known of the clients.
func (c *Client) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), c.opts().AnswerTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range c.peers {
		r := p.attempt
		if r == nil {
			continue
		}
		if r.upgrade != nil {
			r.upgrade.cancel()
		}
		if r.finish(); !c.inSession(p) {
			r.cancel(errReconnect)
		}
		wg.Go(func() {
			select {
			case <-r.done:
			case <-ctx.Done():
				r.cancel(errReconnect)
			}
			c.closeLinks(p, r)
		})
	}
	wg.Wait()
	var known []KnownClient
	for _, p := range c.peers {
		p.dropConn()
		known = append(known, c.knownClientOf(p))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.knownClients, c.peers, c.status = known, nil, Status{State: Stopped}
	c.notifyAll()
}

func (c *Client) knownClientOf(p *peer) KnownClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := KnownClient{
		Socket: p.socket, Port: p.port, Process: p.Process, Answered: p.hasAnswered, Over: p.lastTransport,
		Served: p.admitted, Proof: p.proof, MayHold: p.mayHold, Refused: make(map[Transport]*link.Refusal),
		Waits: []time.Duration{p.retryBackoff.Next, p.refusalBackoff.Next},
	}
	now := time.Now()
	if full := p.bucket.Full(); full.After(now) {
		l.TokensFull, l.TokensIn = full, full.Sub(now)
	}
	for tr, err := range p.refused {
		if refusal, ok := errors.AsType[*link.Refusal](err); ok {
			l.Refused[tr] = refusal
		}
	}
	switch refusal, known := errors.AsType[*link.Refusal](p.givenUp); {
	case p.commandUnknown:
		l.GivenUp = &link.Refusal{Phase: link.PhaseCommand, Code: link.CodeUnknownCommand}
	case known:
		l.GivenUp = refusal
	case p.attempt == nil && p.nextTry.After(now) && slices.Contains([]State{Connecting, Refused}, p.status.State):
		l.Status, l.RetryIn = new(p.status), p.status.NextTry.Sub(now)
	}
	return l
}

// restoreKnown applies what another agent knew to the clients that were found.
func (c *Client) restoreKnown() {
	rest := slices.DeleteFunc(c.KnownClients(), func(l KnownClient) bool {
		i := slices.IndexFunc(c.peers, func(p *peer) bool { return p.attempt == nil && l.same(p) })
		if i >= 0 {
			c.restore(c.peers[i], l)
		}
		return i >= 0
	})
	c.locked(func() { c.knownClients = rest })
}

func (c *Client) restore(p *peer, l KnownClient) {
	p.bucket.SetFull(l.TokensFull)
	c.locked(func() { p.lastTransport, p.mayHold = l.Over, l.MayHold })
	if l.Process.PID == 0 && !l.location().showsRestarts() {
		return // it may be another client by now, or none
	}
	p.hasAnswered, p.hasGreeted = l.Answered, l.Answered
	if len(l.Waits) == 2 {
		p.retryBackoff.Next, p.refusalBackoff.Next = l.Waits[0], l.Waits[1]
	}
	c.locked(func() {
		p.admitted = l.Served && c.opts().Clients == FirstClient // else another one might be the first
		p.proof, p.inheritedProof = l.Proof, l.Proof
		for tr, err := range l.Refused {
			if err != nil && isPermanent(err) {
				p.refused[tr] = err
			}
		}
	})
	switch {
	case l.GivenUp != nil:
		on := onAllRefused
		if l.GivenUp.Phase == link.PhaseCommand {
			on = onUnknownCommand
		}
		c.applyOutcome(p, on)
		p.givenUp = l.GivenUp
		c.updateSession(p, func(s *Session) {
			*s = Session{State: s.State, Address: p.address(""), Error: l.GivenUp.Error(), Reason: reasonOf(l.GivenUp)}
		})
	case l.Status != nil:
		status := *l.Status
		if latest := time.Now().Add(refusedMax); status.NextTry.After(latest) { // the clock was set back
			status.NextTry = latest
		}
		p.nextTry = status.NextTry
		c.updateSession(p, func(s *Session) { *s = status })
	}
}
