package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// peer is one client process, or what stands where one might be. Until it restarts, what it
// refused is remembered, and so is how many of its tokens were spent. Its state is that of its
// status; transitions says how it changes.
type peer struct {
	place  // owned by Client.Run
	box    *mailbox
	bucket *bucket
	retry  *backoff // after a session that ended
	sulk   *backoff // after a refusal to talk
	doubt  *backoff // after an answer, or a silence, that is not a client's
	again  time.Time
	over   error // not nil: given up, there is nothing to try before it restarts
	stray  error // why it is a stranger

	// Owned by the attempt while one runs, else by Client.Run.
	conn     net.Conn // fresh, to the socket; nil once used
	dialed   time.Time
	answered bool            // the command, at least once
	said     map[string]bool // what was logged since the last delivery

	run *run // the attempt that runs; nil when none

	// Guarded by Client.mu.
	status  Session
	refused map[Transport]error // refused for as long as the process lives
	running bool                // an attempt is under way
	worked  Transport           // over which it has answered last
	talking bool                // it has the turn
	held    bool                // there is a session
	late    bool                // it takes long to prove itself, and holds up nobody any more
	asked   bool                // for a proof that a client could take for the word of its vendor
	chance  bool                // it is to be asked once more if it does not answer
	next    *opening            // the link to go on with
	sent    *devices.Snapshot   // what it may have: the last list that it was sent and has not refused; nil: none
	// Which ports may belong to which sockets (rule R76):
	who         int // the process
	lineage     Lineage
	portAlone   bool // a port, and its socket is not known
	socketAlone bool // a socket, and its port is not known
	greeted     bool // it has said READY, and waits for ports that may be its own to fall silent
	ignorant    bool // it says that it does not know the command
}

// run is one attempt to talk to a peer.
type run struct {
	at     place // owned by Client.Run
	ctx    context.Context
	cancel context.CancelCauseFunc
	leave  chan struct{} // closed: end as soon as nothing is in flight
	done   chan struct{} // closed at the end, after which the rest may be read
	worked bool
	err    error

	// Owned by Client.Run.
	better     *opening  // a better link, while it is made
	improve    time.Time // when one may be tried again
	trials     *backoff
	dropped    bool // it ends with a farewell
	yields     bool // it may no longer be talked to
	reconsider bool // new settings may leave out what it uses, or have something better
}

// The causes with which an attempt is ended from outside.
var (
	errStopping = errors.New("the agent stops")               // in order, with a farewell
	errMoved    = errors.New("there is a better way now")     // to the same client: without a farewell
	errYield    = errors.New("it may no longer be talked to") // without a farewell
	errDropped  = errors.New("the settings leave it out now") // with a farewell
)

// What an attempt has found that concerns the place, not the client.
var (
	errStranger = errors.New("the program on the port does not answer as a client does")
	errDeaf     = errors.New("nobody listens on the socket")
	errReplaced = errors.New("the socket has another owner now")
)

func (c *Client) newPeer(who Process) *peer {
	p := &peer{
		place: place{Process: who}, box: newMailbox(), bucket: newBucket(c.opts().Tokens, c.opts().TokenEvery),
		doubt: c.opts().backoff(doubtFirst, doubtMax), refused: make(map[Transport]error), said: make(map[string]bool),
		status: Session{State: Searching}, // no session before it has proved to be a client
	}
	c.setBackoffs(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest != nil {
		p.box.put(*c.newest)
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
	p.retry, p.sulk = o.backoff(retryFirst, o.RetryMax), o.backoff(o.RefusedWait, max(refusedMax, o.RefusedWait))
}

// follow puts the transition of p after an outcome into force.
func (c *Client) follow(p *peer, on outcome) State {
	t := next(c.stateOf(p), on)
	p.over, p.stray, p.again = nil, nil, time.Time{}
	switch now := time.Now(); t.then {
	case trySoon:
		p.again = now.Add(p.retry.wait())
	case tryLater, tryWhenAnew:
		p.again = now.Add(p.sulk.wait())
	case trySeldom:
		p.again = now.Add(p.doubt.wait())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.status.State = t.to
	return t.to
}

// enter is follow for what happens while p is talked to: f fills in the status.
func (c *Client) enter(p *peer, on outcome, f func(*Session)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := next(p.status.State, on).to
	f(&p.status)
	p.status.State = to
	c.wakeAll()
}

// keep stores a connection for the next attempt.
func (p *peer) keep(conn net.Conn) {
	if p.run != nil || p.conn != nil { // in this order: conn is the attempt's while one runs
		_ = conn.Close()
		return
	}
	p.conn, p.dialed = conn, time.Now()
}

func (p *peer) dropConn() {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}

// once logs what was not logged since the last delivery: trying again and again is no news.
func (c *Client) once(p *peer, msg string, args ...any) {
	line := fmt.Sprint(append([]any{msg}, args...)...)
	if !p.said[line] && len(p.said) < maxSaid {
		p.said[line] = true
		c.opts().Log.Info(msg, args...)
	}
}

// maxSaid ends the telling of one long trouble, in which each error may differ by a detail.
const maxSaid = 50

// refusal is why p lets nobody in over the transport for as long as it runs; nil: it may.
func (c *Client) refusal(p *peer, over Transport) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.refused[over]
}

func (c *Client) refuse(p *peer, over Transport, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.refused[over] = err
}

// forgive forgets what p has refused.
func (c *Client) forgive(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(p.refused)
}

// hopeless reports whether the client has refused all that it offers for as long as it runs.
func (c *Client) hopeless(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(p.refused) > 0 && !slices.ContainsFunc(c.opts().Transports, func(t Transport) bool { return p.offers(t) && p.refused[t] == nil })
}
