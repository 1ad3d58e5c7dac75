package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// peer is one client process, or what stands where one might be. Until it restarts, what it
// refused is remembered, and so is how many of its tokens were spent.
type peer struct {
	place    // owned by Client.Run
	box      *mailbox
	retry    *backoff // after a session that ended
	sulk     *backoff // after a refusal to talk
	doubt    *backoff // after an answer, or a silence, that is not a client's
	again    time.Time
	over     error // not nil: nothing to try before it restarts
	stranger error // not nil: it is another program; searches ask it again, ever more rarely

	// Owned by the attempt while one runs, else by Client.Run.
	conn     net.Conn // fresh, to the socket; nil once used
	bucket   limiter
	refused  map[Transport]error // refused for as long as the process lives
	answered bool                // the command, at least once
	said     map[string]bool     // what was logged since the last delivery

	run *run // the attempt that runs; nil when none

	// Guarded by Client.mu.
	status  Session
	running bool // an attempt is under way
	talking bool // it has the turn
	held    bool // there is a session
	chance  bool // it is to be asked once more if it does not answer
	// Which ports may belong to which sockets (rule R76):
	ownerUnknown bool // a port, and whose it is is not known
	socketAlone  bool // a socket, and its port is not known
}

// run is one attempt to talk to a peer.
type run struct {
	at     place
	cancel context.CancelCauseFunc
	leave  chan struct{} // closed: end as soon as nothing is in flight
	done   chan struct{} // closed at the end, after which the rest may be read
	worked bool
	err    error
}

// The causes with which an attempt is ended from outside.
var (
	errStopping = errors.New("the agent stops")               // in order, with a farewell
	errMoved    = errors.New("there is a better way now")     // to the same client: without a farewell
	errYield    = errors.New("it may no longer be talked to") // without a farewell
)

// What an attempt has found that concerns the place, not the client.
var (
	errStranger = errors.New("the program on the port does not answer as a client does")
	errDeaf     = errors.New("nobody listens on the socket")
	errReplaced = errors.New("the socket has another owner now")
)

func (c *Client) newPeer(who Process) *peer {
	p := &peer{
		place: place{Process: who}, box: newMailbox(),
		retry: c.opts.backoff(retryFirst, c.opts.RetryMax), sulk: c.opts.backoff(c.opts.RefusedWait, max(refusedMax, c.opts.RefusedWait)),
		doubt:   c.opts.backoff(doubtFirst, doubtMax),
		bucket:  limiter{size: c.opts.Tokens, every: c.opts.TokenEvery},
		refused: make(map[Transport]error), said: make(map[string]bool),
		status: Session{State: Searching}, // no session before it has proved to be a client
	}
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
	return slices.Index(c.opts.Ports, a.port.Port) - slices.Index(c.opts.Ports, b.port.Port)
}

// gains says that p has a place that it lacked, which may be the way that was missing.
func (p *peer) gains() { p.over, p.stranger, p.again = nil, nil, time.Time{} }

// keep stores a connection for the next attempt.
func (p *peer) keep(conn net.Conn) {
	if p.run != nil || p.conn != nil { // in this order: conn is the attempt's while one runs
		_ = conn.Close()
		return
	}
	p.conn = conn
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
		c.opts.Log.Info(msg, args...)
	}
}

// maxSaid ends the telling of one long trouble, in which each error may differ by a detail.
const maxSaid = 50
