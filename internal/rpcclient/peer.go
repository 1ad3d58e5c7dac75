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
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/session"
	"sidetone/internal/transition"
)

// peer is one client process, or another program on a socket or port where a client might be. What it
// refused, and how many of its tokens were spent, is remembered until it restarts. The state of its
// status changes by the table transitions.
type peer struct {
	location        // owned by Client.Run
	outbox          *session.Outbox
	bucket          *session.TokenBucket
	retryBackoff    *link.Backoff // after the end of a session
	refusalBackoff  *link.Backoff // after a refusal to talk
	probeBackoff    *link.Backoff // after a failed proof
	relayBackoff    *link.Backoff // while nobody is behind its relay
	unheardSince    time.Time     // since when nobody is; zero: somebody is, or it is no relay
	nextTry         time.Time
	givenUp         error // not nil: nothing is tried before it restarts
	notClientReason error // why its state is occupied

	// Owned by the attempt while one runs, else by Client.Run.
	conn        net.Conn // fresh, to the socket; nil once used
	dialedAt    time.Time
	hasAnswered bool            // the command, at least once
	hasGreeted  bool            // there was a session since it started
	logged      map[string]bool // what was logged since the last delivery

	attempt *attempt // nil: none runs

	// Guarded by Client.mu.
	status        Session
	refused       map[Transport]error // why it refuses transports until it restarts
	lastTransport Transport           // over which it has answered last; "": none since it restarted
	askOnceMore   bool                // reconnect and ask again if it does not answer
	nextLink      *pendingLink        // for the next session
	mayHold       *devices.Snapshot   // the last list that it was sent and has not refused; nil: none
	hadSession    bool                // there was a session with it
	admitted      bool                // it may be talked to
	silent        bool                // it has not answered any list, which is a guess: it is the last one to be talked to alone
	progress                          // of the attempt that runs

	// What decides which ports may belong to which sockets (rule R76), guarded by Client.mu.
	lineagePID int // the process that lineage is of
	lineage    local.Lineage
	portOnly   bool // it has a port, and its socket is not known
	socketOnly bool // it has a socket, and its port is not known
}

// progress is how far an attempt has come.
type progress struct {
	running        bool // it has begun
	waiting        bool // for its turn
	probing        bool // the port is asked for a proof that a client could take for its vendor's list
	probeIsSlow    bool // proving the port takes long, and delays other clients no more
	greeted        bool // READY came over the socket; now attempts with ports that may be its own have to end
	inSession      bool // it has a working link
	linkMayCost    bool // that link may have cost it a token
	commandUnknown bool // the client says that it does not know the command
}

// attempt is one attempt to talk to a peer.
type attempt struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	done      chan struct{} // closed at the end; delivered and err may be read after that
	delivered bool          // the client has accepted a list
	err       error         // why it has ended

	// Owned by Client.Run.
	at              location
	finish          context.CancelFunc // ends the session as soon as nothing is in flight
	upgrade         *pendingLink       // a better link that is being opened
	nextUpgrade     time.Time          // when one may be tried again
	upgradeBackoff  *link.Backoff
	excluded        bool // it ends with a farewell
	yielding        bool // it must not go on
	settingsChanged bool // new settings may forbid its transport, or offer a better one
}

// The causes for which an attempt is cancelled.
var (
	errStopping  = errors.New("the agent stops")               // with a farewell
	errReconnect = session.ErrReconnect                        // without a farewell
	errExcluded  = errors.New("the settings leave it out now") // with a farewell
)

// Errors about the location, not the client.
var (
	errNotClient      = errors.New("the program on the port does not answer as a client does")
	errUnreachable    = errors.New("nobody listens on the socket")
	errOwnerChanged   = errors.New("the socket has another owner now")
	errStillListening = errors.New("it is still there")
)

func (c *Client) newPeer(who local.Process) *peer {
	p := &peer{
		location: location{Process: who}, outbox: session.NewOutbox(), bucket: session.NewTokenBucket(c.opts().Tokens, c.opts().TokenEvery),
		probeBackoff: c.opts().backoff(probeFirst, probeMax), refused: make(map[Transport]error), logged: make(map[string]bool),
		status: Session{State: Searching}, // no session before it has proved to be a client
	}
	c.setBackoffs(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest != nil {
		p.outbox.Put(*c.newest)
	}
	c.peers = append(c.peers, p)
	return p
}

// rank orders clients: those with a socket first, then ports that the system lists, then others; equal ones by port.
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
	p.relayBackoff, p.unheardSince = o.backoff(retryFirst, relayMax), time.Time{}
}

// applyOutcome changes the state of p, and when it is tried next, as transitions says for the outcome.
func (c *Client) applyOutcome(p *peer, on outcome) State {
	t := read(c, func() transition.Line[State, outcome, retry] {
		t := transitions.After(p.status.State, on)
		p.status.State = t.To
		return t
	})
	p.givenUp, p.notClientReason, p.nextTry = nil, nil, time.Time{}
	now := time.Now()
	if t.Then != tryCheaply {
		p.unheardSince = time.Time{}
	}
	switch t.Then {
	case tryCheaply:
		p.nextTry = now.Add(c.relayWait(p, now))
	case trySoon:
		p.nextTry = now.Add(p.retryBackoff.Wait())
	case tryLater, tryAfterRestart:
		p.nextTry = now.Add(p.refusalBackoff.Wait())
	case trySeldom:
		p.nextTry = now.Add(p.probeBackoff.Wait())
	}
	return t.To
}

// relayWait returns the wait until it is seen whether a client is behind a relay again. No client learns of the connects before.
func (c *Client) relayWait(p *peer, now time.Time) time.Duration {
	if p.unheardSince.IsZero() {
		p.unheardSince, p.relayBackoff = now, c.opts().backoff(retryFirst, relayMax)
	}
	if now.Sub(p.unheardSince) >= quickSearchFor {
		p.relayBackoff = c.opts().backoff(relaySeldom, relaySeldom)
	}
	return p.relayBackoff.Wait()
}

// applySessionOutcome is applyOutcome for what happens during an attempt. f fills in the status.
func (c *Client) applySessionOutcome(p *peer, on outcome, f func(*Session)) {
	c.updateSession(p, func(s *Session) {
		to := transitions.After(s.State, on).To
		f(s)
		s.State = to
	})
}

// keepConn keeps a connection for the next attempt.
func (p *peer) keepConn(conn net.Conn) {
	if p.attempt != nil || p.conn != nil { // in this order: a running attempt owns p.conn
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

// logOnce logs each line once between two deliveries: attempts that fail in the same way are no news.
func (c *Client) logOnce(p *peer, msg string, args ...any) {
	line := fmt.Sprint(append([]any{msg}, args...)...)
	if !p.logged[line] && len(p.logged) < maxLogged {
		p.logged[line] = true
		c.opts().Log.Info(msg, args...)
	}
}

// maxLogged bounds what is logged between two deliveries: errors may differ in details.
const maxLogged = 50

// refusedWith returns why p refuses the transport until it restarts; nil: it does not, as far as is known.
func (c *Client) refusedWith(p *peer, over Transport) error {
	return read(c, func() error { return p.refused[over] })
}

func (c *Client) forgetRefusals(p *peer) { c.locked(func() { clear(p.refused) }) }

// allRefused reports whether the client refuses all transports that it offers until it restarts.
func (c *Client) allRefused(p *peer) bool {
	left := func(t Transport) bool { return p.offers(t) && p.refused[t] == nil }
	return read(c, func() bool { return len(p.refused) > 0 && !slices.ContainsFunc(c.opts().Transports, left) })
}
