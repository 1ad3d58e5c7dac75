package rpcclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/local"
)

// peer is one client process, or what stands where one might be. Until it restarts, what it
// refused is remembered, and so is how many of its tokens were spent. Its state is that of its
// status; transitions says how it changes.
type peer struct {
	location        // owned by Client.Run
	outbox          *outbox
	bucket          *tokenBucket
	retryBackoff    *backoff // after a session that ended
	refusalBackoff  *backoff // after a refusal to talk
	probeBackoff    *backoff // after an answer, or a silence, that is not a client's
	nextTry         time.Time
	givenUp         error // not nil: given up, there is nothing to try before it restarts
	notClientReason error // why its state is occupied

	// Owned by the attempt while one runs, else by Client.Run.
	conn        net.Conn // fresh, to the socket; nil once used
	dialedAt    time.Time
	hasAnswered bool            // the command, at least once
	hasGreeted  bool            // since it started
	logged      map[string]bool // what was logged since the last delivery

	attempt *attempt // that runs; nil: none

	// Guarded by Client.mu.
	status         Session
	refused        map[Transport]error // for as long as the process lives
	lastTransport  Transport           // over which it has answered last; "": none since it restarted
	askOnceMore    bool                // if it does not answer
	nextLink       *pendingLink        // to go on with
	mayHold        *devices.Snapshot   // the last list that it was sent and has not refused; nil: none
	met            bool                // there was a link to it that worked
	admitted       bool                // it may be talked to
	proof          *Proof              // of its port, for which it was asked; nil: it has given the free one, or none
	inheritedProof *Proof              // by another agent; nil: none, or it was made use of
	progress                           // of the attempt that runs

	// What tells which ports may belong to which sockets (rule R76), guarded by Client.mu.
	lineagePID int // the process whose lineage it is
	lineage    local.Lineage
	portOnly   bool // it has a port, and its socket is not known
	socketOnly bool // it has a socket, and its port is not known
}

// progress is how far an attempt has come.
type progress struct {
	running        bool // it has begun
	waiting        bool // for its turn, behind another client
	probing        bool // the port is asked for a proof that a client could take for the word of its vendor
	probeIsSlow    bool // it takes long to prove itself, and holds up nobody any more
	greeted        bool // it has said READY over its socket, and waits for ports that may be its own to fall silent
	inSession      bool // it has a link that works
	countsLinks    bool // which may have cost it a token
	commandUnknown bool // it says that it does not know the command
}

// attempt is one attempt to talk to a peer.
type attempt struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	done      chan struct{} // closed at the end, after which the next two may be read
	delivered bool          // a list
	err       error         // why it has ended

	// Owned by Client.Run.
	at              location
	endWhenIdle     chan struct{} // closed: end as soon as nothing is in flight
	upgrade         *pendingLink  // a better link, while it is made
	nextUpgrade     time.Time     // when one may be tried again
	upgradeBackoff  *backoff
	excluded        bool // it ends with a farewell
	yielding        bool // it may no longer be talked to
	settingsChanged bool // new settings may leave out what it uses, or have something better
}

// The causes with which an attempt is ended from outside.
var (
	errStopping  = errors.New("the agent stops")                                             // in order, with a farewell
	errReconnect = errors.New("there is a better way now, or it may no longer be talked to") // without a farewell
	errExcluded  = errors.New("the settings leave it out now")                               // with a farewell
)

// Errors that tell something of the location, not of the client.
var (
	errNotClient      = errors.New("the program on the port does not answer as a client does")
	errUnreachable    = errors.New("nobody listens on the socket")
	errOwnerChanged   = errors.New("the socket has another owner now")
	errStillListening = errors.New("it is still there")
)

func (c *Client) newPeer(who local.Process) *peer {
	p := &peer{
		location: location{Process: who}, outbox: newOutbox(), bucket: newTokenBucket(c.opts().Tokens, c.opts().TokenEvery),
		probeBackoff: c.opts().backoff(probeFirst, probeMax), refused: make(map[Transport]error), logged: make(map[string]bool),
		status: Session{State: Searching}, // no session before it has proved to be a client
	}
	c.setBackoffs(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest != nil {
		p.outbox.put(*c.newest)
	}
	c.peers = append(c.peers, p)
	return p
}

// rank puts clients with a socket before those without, and ports that the system lists before others, then goes by port.
func (c *Client) rank(a, b *peer) int {
	class := func(p *peer) int {
		switch {
		case p.hasSocket():
			return 0
		case p.port.ID != 0:
			return 1
		}
		return 2
	}
	return cmp.Or(class(a)-class(b), slices.Index(c.opts().Ports, a.port.Port)-slices.Index(c.opts().Ports, b.port.Port))
}

func (c *Client) setBackoffs(p *peer) {
	o := c.opts()
	p.retryBackoff, p.refusalBackoff = o.backoff(retryFirst, o.RetryMax), o.backoff(o.RefusedWait, max(refusedMax, o.RefusedWait))
}

// applyOutcome puts the transition of p after an outcome into force.
func (c *Client) applyOutcome(p *peer, on outcome) State {
	t := transitions.After(c.stateOf(p), on)
	p.givenUp, p.notClientReason, p.nextTry = nil, nil, time.Time{}
	switch now := time.Now(); t.Then {
	case trySoon:
		p.nextTry = now.Add(p.retryBackoff.wait())
	case tryLater, tryAfterRestart:
		p.nextTry = now.Add(p.refusalBackoff.wait())
	case trySeldom:
		p.nextTry = now.Add(p.probeBackoff.wait())
	}
	c.locked(func() { p.status.State = t.To })
	return t.To
}

// applySessionOutcome is applyOutcome for what happens while p is talked to: f fills in the status.
func (c *Client) applySessionOutcome(p *peer, on outcome, f func(*Session)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := transitions.After(p.status.State, on).To
	f(&p.status)
	p.status.State = to
	c.notifyAll()
}

// keepConn stores a connection for the next attempt.
func (p *peer) keepConn(conn net.Conn) {
	if p.attempt != nil || p.conn != nil { // in this order: conn is the attempt's while one runs
		_ = conn.Close()
		return
	}
	p.conn, p.dialedAt = conn, time.Now()
}

func (p *peer) dropConn() {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}

// logOnce logs what was not logged since the last delivery: tries that fail in the same way are no news.
func (c *Client) logOnce(p *peer, msg string, args ...any) {
	line := fmt.Sprint(append([]any{msg}, args...)...)
	if !p.logged[line] && len(p.logged) < maxLogged {
		p.logged[line] = true
		c.opts().Log.Info(msg, args...)
	}
}

// maxLogged bounds how much is logged between two deliveries: each error may differ by a detail.
const maxLogged = 50

// refusedWith is why p lets nobody in over the transport for as long as it runs; nil: it may.
func (c *Client) refusedWith(p *peer, over Transport) (err error) {
	c.locked(func() { err = p.refused[over] })
	return err
}

// forgetRefusals forgets what p has refused.
func (c *Client) forgetRefusals(p *peer) { c.locked(func() { clear(p.refused) }) }

// allRefused reports whether the client has refused all that it offers for as long as it runs.
func (c *Client) allRefused(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := func(t Transport) bool { return p.offers(t) && p.refused[t] == nil }
	return len(p.refused) > 0 && !slices.ContainsFunc(c.opts().Transports, left)
}
