package rpcclient

import (
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
	mailbox         *mailbox
	bucket          *bucket
	retryBackoff    *backoff // after a session that ended
	refusalBackoff  *backoff // after a refusal to talk
	probeBackoff    *backoff // after an answer, or a silence, that is not a client's
	nextTry         time.Time
	givenUp         error // not nil: given up, there is nothing to try before it restarts
	notClientReason error // why it is a stranger

	// Owned by the attempt while one runs, else by Client.Run.
	conn        net.Conn // fresh, to the socket; nil once used
	dialedAt    time.Time
	hasAnswered bool            // the command, at least once
	logged      map[string]bool // what was logged since the last delivery

	attempt *attempt // the attempt that runs; nil when none

	// Guarded by Client.mu.
	status        Session
	refused       map[Transport]error // refused for as long as the process lives
	running       bool                // an attempt is under way
	lastTransport Transport           // over which it has answered last
	admitted      bool                // it has the turn
	inSession     bool                // there is a session
	probeIsSlow   bool                // it takes long to prove itself, and holds up nobody any more
	probing       bool                // for a proof that a client could take for the word of its vendor
	askOnceMore   bool                // it is to be asked once more if it does not answer
	nextLink      *pendingLink        // the link to go on with
	mayHold       *devices.Snapshot   // what it may have: the last list that it was sent and has not refused; nil: none
	// Which ports may belong to which sockets (rule R76):
	lineagePID     int // the process
	lineage        local.Lineage
	portOnly       bool // a port, and its socket is not known
	socketOnly     bool // a socket, and its port is not known
	greeted        bool // it has said READY, and waits for ports that may be its own to fall silent
	commandUnknown bool // it says that it does not know the command
}

// attempt is one attempt to talk to a peer.
type attempt struct {
	at          location // owned by Client.Run
	ctx         context.Context
	cancel      context.CancelCauseFunc
	endWhenIdle chan struct{} // closed: end as soon as nothing is in flight
	done        chan struct{} // closed at the end, after which the rest may be read
	delivered   bool
	err         error

	// Owned by Client.Run.
	upgrade         *pendingLink // a better link, while it is made
	nextUpgrade     time.Time    // when one may be tried again
	upgradeBackoff  *backoff
	excluded        bool // it ends with a farewell
	yielding        bool // it may no longer be talked to
	settingsChanged bool // new settings may leave out what it uses, or have something better
}

// The causes with which an attempt is ended from outside.
var (
	errStopping = errors.New("the agent stops")               // in order, with a farewell
	errMoved    = errors.New("there is a better way now")     // to the same client: without a farewell
	errYielded  = errors.New("it may no longer be talked to") // without a farewell
	errExcluded = errors.New("the settings leave it out now") // with a farewell
)

// What an attempt has found that concerns the place, not the client.
var (
	errNotClient    = errors.New("the program on the port does not answer as a client does")
	errUnreachable  = errors.New("nobody listens on the socket")
	errOwnerChanged = errors.New("the socket has another owner now")
)

func (c *Client) newPeer(who local.Process) *peer {
	p := &peer{
		location: location{Process: who}, mailbox: newMailbox(), bucket: newBucket(c.opts().Tokens, c.opts().TokenEvery),
		probeBackoff: c.opts().backoff(doubtFirst, doubtMax), refused: make(map[Transport]error), logged: make(map[string]bool),
		status: Session{State: Searching}, // no session before it has proved to be a client
	}
	c.setBackoffs(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest != nil {
		p.mailbox.put(*c.newest)
	}
	c.peers = append(c.peers, p)
	return p
}

// rank puts clients with a socket before those without, then goes by socket and port.
func (c *Client) rank(a, b *peer) int {
	if (a.socket.Path == "") != (b.socket.Path == "") {
		if a.socket.Path != "" {
			return -1
		}
		return 1
	}
	return slices.Index(c.opts().Ports, a.port.Port) - slices.Index(c.opts().Ports, b.port.Port)
}

func (c *Client) setBackoffs(p *peer) {
	o := c.opts()
	p.retryBackoff, p.refusalBackoff = o.backoff(retryFirst, o.RetryMax), o.backoff(o.RefusedWait, max(refusedMax, o.RefusedWait))
}

// applyOutcome puts the transition of p after an outcome into force.
func (c *Client) applyOutcome(p *peer, on outcome) State {
	t := next(c.stateOf(p), on)
	p.givenUp, p.notClientReason, p.nextTry = nil, nil, time.Time{}
	switch now := time.Now(); t.retry {
	case trySoon:
		p.nextTry = now.Add(p.retryBackoff.wait())
	case tryLater, tryAfterRestart:
		p.nextTry = now.Add(p.refusalBackoff.wait())
	case trySeldom:
		p.nextTry = now.Add(p.probeBackoff.wait())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.status.State = t.to
	return t.to
}

// applySessionOutcome is follow for what happens while p is talked to: f fills in the status.
func (c *Client) applySessionOutcome(p *peer, on outcome, f func(*Session)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := next(p.status.State, on).to
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

// logOnce logs what was not logged since the last delivery: trying again and again is no news.
func (c *Client) logOnce(p *peer, msg string, args ...any) {
	line := fmt.Sprint(append([]any{msg}, args...)...)
	if !p.logged[line] && len(p.logged) < maxLogged {
		p.logged[line] = true
		c.opts().Log.Info(msg, args...)
	}
}

// maxLogged ends the telling of one long trouble, in which each error may differ by a detail.
const maxLogged = 50

// refusedWith is why p lets nobody in over the transport for as long as it runs; nil: it may.
func (c *Client) refusedWith(p *peer, over Transport) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.refused[over]
}

func (c *Client) rememberRefusal(p *peer, over Transport, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.refused[over] = err
}

// forgetRefusals forgets what p has refused.
func (c *Client) forgetRefusals(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(p.refused)
}

// allRefused reports whether the client has refused all that it offers for as long as it runs.
func (c *Client) allRefused(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(p.refused) > 0 && !slices.ContainsFunc(c.opts().Transports, func(t Transport) bool { return p.offers(t) && p.refused[t] == nil })
}
