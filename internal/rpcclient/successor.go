package rpcclient

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/local"
)

// ErrHandover is the cause with which the context of Run ends where another agent goes on in place of this one. Clients keep what they
// have. Run can be called again, if the other one fails.
var ErrHandover = errors.New("another agent goes on")

// KnownClient is what is known of one client, for whoever goes on in place of this agent, until the client restarts.
// One that was silent is not in it: it may have been frozen, and is to be asked anew.
type KnownClient struct {
	Socket  local.Socket   `json:"socket,omitzero"`
	Port    local.Listener `json:"port,omitzero"`
	Process local.Process  `json:"process,omitzero"`

	TokensFull time.Time                   `json:"tokens_full,omitzero"` // when it has all of its tokens again
	Served     bool                        `json:"served,omitempty"`     // it was the one, or one of those, to be talked to
	Answered   bool                        `json:"answered,omitempty"`   // the command, at least once
	Over       Transport                   `json:"over,omitempty"`       // which it has answered last
	Proof      *Proof                      `json:"proof,omitempty"`      // of the port; nil: it proves itself for nothing
	Refused    map[Transport]*refusalError `json:"refused,omitempty"`    // until it restarts
	GivenUp    *refusalError               `json:"given_up,omitempty"`   // likewise, whatever the transport
	Status     *Session                    `json:"status,omitempty"`     // with a next try, before which nothing is sent
	Waits      []time.Duration             `json:"waits,omitempty"`      // the next ones after a lost connection and after a refusal
	MayHold    *devices.Snapshot           `json:"may_hold,omitempty"`   // the last list that it was sent and has not refused
}

// same reports whether p is the client that l is of.
func (l *KnownClient) same(p *peer) bool {
	was := l.location()
	samePort := was.hasPort() && was.port.Port == p.port.Port && was.port.ID == p.port.ID
	return was.PID == p.PID && (was.hasSocket() && was.socket == p.socket || samePort)
}

func (l *KnownClient) location() location { return location{l.Socket, l.Port, l.Process} }

// KnownClients is what was known of clients when Run ended with ErrHandover.
func (c *Client) KnownClients() []KnownClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.knownClients)
}

// Recall has Run, which has not begun, go on with what another agent has learnt.
func (c *Client) Recall(all []KnownClient) { c.locked(func() { c.knownClients = slices.Clone(all) }) }

// UntilHandover is how long the clients need until another agent could go on at once, as each has a token for its connection; and one
// that does not answer, nil if all do. One that has answered before and is being connected to gets there first.
func (c *Client) UntilHandover() (wait time.Duration, slow *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.knownClients) > 0 {
		wait = retryFirst
	}
	for _, p := range c.peers {
		if p.status.State == Slow {
			status := p.status
			slow = &status
		}
		switch tr := p.status.Transport; {
		case p.running && !p.inSession && p.lastTransport != "" && p.status.State == Connecting:
			wait = max(wait, retryFirst)
		case p.probing && !p.probeIsSlow && !p.inSession, p.inSession && tr == HTTP && p.status.State == Connecting:
			wait = max(wait, retryFirst) // what is not waited for has cost its token all the same
		case p.inSession && p.countsLinks && tr != HTTP:
			wait = max(wait, p.bucket.linkDelay(time.Now()), c.sharedDelay(p, time.Now()))
		}
	}
	return wait, slow
}

// sharedDelay is how long p needs until there is a token for a link also if the ports, or sockets, that may be its own are: then what each
// has cost was one and the same client's. mu is held.
func (c *Client) sharedDelay(p *peer, now time.Time) time.Duration {
	spent, next := p.bucket.outstanding(now)
	for _, q := range c.peers {
		if maybeSameClient(p, q) || maybeSameClient(q, p) {
			n, again := q.bucket.outstanding(now)
			spent, next = spent+n, max(next, again)
		}
	}
	if spent < c.opts().Tokens {
		return 0
	}
	return next
}

// leave ends all sessions as soon as nothing is in flight on them, and keeps in mind what was learnt. Clients are told nothing.
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
				<-r.done
			}
			r.upgrade.close()
			c.takeNextLink(p).close()
		})
	}
	wg.Wait()
	var knownClients []KnownClient
	for _, p := range c.peers {
		p.dropConn()
		knownClients = append(knownClients, c.knownClientOf(p))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.knownClients, c.peers, c.status = knownClients, nil, Status{State: Stopped}
	c.notifyAll()
}

func (c *Client) knownClientOf(p *peer) KnownClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := KnownClient{
		Socket: p.socket, Port: p.port, Process: p.Process, TokensFull: p.bucket.full(), Answered: p.hasAnswered, Over: p.lastTransport,
		Served: p.admitted, Proof: p.proof, MayHold: p.mayHold, Refused: make(map[Transport]*refusalError),
		Waits: []time.Duration{p.retryBackoff.next, p.refusalBackoff.next},
	}
	for tr, err := range p.refused {
		if refusal, ok := errors.AsType[*refusalError](err); ok {
			l.Refused[tr] = refusal
		}
	}
	switch refusal, known := errors.AsType[*refusalError](p.givenUp); {
	case p.commandUnknown:
		l.GivenUp = &refusalError{Phase: phaseCommand, Code: codeUnknownCommand}
	case known:
		l.GivenUp = refusal
	case p.attempt == nil && p.nextTry.After(time.Now()) && slices.Contains([]State{Connecting, Refused}, p.status.State):
		status := p.status
		l.Status = &status
	}
	return l
}

// recall gives the clients that were found what was learnt of them.
func (c *Client) recall() {
	var all []KnownClient
	c.locked(func() { all = c.knownClients })
	if len(all) == 0 {
		return
	}
	rest := slices.DeleteFunc(all, func(l KnownClient) bool {
		i := slices.IndexFunc(c.peers, func(p *peer) bool { return p.attempt == nil && l.same(p) })
		if i >= 0 {
			c.recallOf(c.peers[i], l)
		}
		return i >= 0
	})
	c.locked(func() { c.knownClients = rest })
}

// forgetUnfound forgets what was learnt of clients that the quick search has not found: they have ended.
func (c *Client) forgetUnfound() {
	if c.searchBackoff.atCeiling() {
		c.locked(func() { c.knownClients = nil })
	}
}

func (c *Client) recallOf(p *peer, l KnownClient) {
	p.bucket.setFull(l.TokensFull)
	c.locked(func() { p.lastTransport, p.mayHold = l.Over, l.MayHold })
	if l.Process.PID == 0 && !l.location().showsRestarts() {
		return // it may be another client by now, or none
	}
	p.hasAnswered, p.hasGreeted = l.Answered, l.Answered
	if len(l.Waits) == 2 {
		p.retryBackoff.next, p.refusalBackoff.next = l.Waits[0], l.Waits[1]
	}
	c.locked(func() {
		p.admitted = l.Served && c.opts().Clients == FirstClient // else another one might be the first
		p.proof, p.inheritedProof = l.Proof, l.Proof
		maps.Copy(p.refused, permanent(l.Refused))
	})
	switch {
	case l.GivenUp != nil:
		on := onAllRefused
		if l.GivenUp.Phase == phaseCommand {
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

// permanent are those refusals that are the same until the client restarts.
func permanent(refused map[Transport]*refusalError) map[Transport]error {
	out := make(map[Transport]error)
	for tr, err := range refused {
		if err != nil && isPermanent(err) {
			out[tr] = err
		}
	}
	return out
}
