// Package rpcclient finds the clients' local RPC servers and keeps their lists of certified
// devices up to date. The numbered rules in comments are those of docs/protocol.md.
package rpcclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
)

// Client reports snapshots to the clients that run. One goroutine, that of Run, knows which
// those are; each is talked to by a goroutine of its own.
type Client struct {
	opts    Options
	noticed chan struct{} // something may have appeared: look closely
	ended   chan struct{} // an attempt has ended, or begun to work

	// Owned by Run.
	peers      []*peer // in order of preference; changed under mu
	deaf       map[string]*deaf
	notes      []string
	search     *backoff
	nextSearch time.Time

	mu      sync.Mutex
	newest  *devices.Snapshot
	changed chan struct{} // closed at the next change of a session
	said    string        // the last reason for having no client that was logged
	status  Status        // but for the sessions
}

// New returns a Client that does nothing before Run.
func New(opts Options) *Client {
	opts = opts.withDefaults()
	return &Client{
		opts: opts, noticed: make(chan struct{}, 1), ended: make(chan struct{}, 1), changed: make(chan struct{}),
		deaf: make(map[string]*deaf), search: newBackoff(retryFirst, opts.RetryMax), status: Status{State: Searching},
	}
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// Publish makes s the list to report. It never blocks; only the newest matters.
func (c *Client) Publish(s devices.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = &s
	for _, p := range c.peers {
		p.box.put(s)
	}
}

// Resend sends the whole list again even if nothing changed, as after a resume (rule R52), and
// gives those clients another chance that were given up.
func (c *Client) Resend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		p.box.askResend()
	}
	ring(c.noticed)
}

// Status returns the present state.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.status
	best := len(states)
	for _, p := range c.peers {
		if i := slices.Index(states, p.status.State); i >= 0 {
			st.Sessions = append(st.Sessions, p.status)
			best = min(best, i)
		}
	}
	if st.State != Stopped && best < len(states) {
		st.State, st.Error, st.Remedy, st.NextTry = states[best], "", "", time.Time{}
	}
	return st
}

// Changed returns a channel that is closed at the next change of the status. Who asks for it
// before Status misses nothing.
func (c *Client) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// set changes the status of one session and wakes who waits for a turn.
func (c *Client) set(p *peer, f func(*Session)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&p.status)
	c.wakeAll()
}

// wakeAll is called with mu held.
func (c *Client) wakeAll() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Run looks for clients and serves them, until ctx ends. Then it leaves them as the policy for
// the exit says, within StopTimeout, and returns (rules R3, R5, R53).
func (c *Client) Run(ctx context.Context) {
	c.mu.Lock()
	c.status = Status{State: Searching}
	c.mu.Unlock()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := c.opts.Local.Watch(ctx, func() { ring(c.noticed) }); err != nil && ctx.Err() == nil && !errors.Is(err, errors.ErrUnsupported) {
			c.opts.Log.Info("new clients are found by searching only", "reason", err)
		}
	})
	tick := true
	for ctx.Err() == nil {
		c.collect()
		c.settle(c.look(ctx))
		c.prune()
		c.start(ctx, tick)
		tick = c.idle(ctx)
	}
	c.stop()
}

// idle waits until there is something to do. It reports whether it is time to search.
func (c *Client) idle(ctx context.Context) (tick bool) {
	now := time.Now()
	searching := c.searching()
	if searching && !c.nextSearch.After(now) {
		c.nextSearch = now.Add(c.search.wait())
	}
	c.describe(searching)
	at := time.Time{}
	if searching {
		at = c.nextSearch
	}
	for _, p := range c.peers {
		if p.run == nil && p.over == nil && p.other == nil && !p.foreign(c.opts.Local.User()) {
			at = earlier(at, p.again)
		}
	}
	for _, d := range c.deaf {
		at = earlier(at, d.again)
	}
	var due <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-c.ended:
	case <-due:
		return searching && !c.nextSearch.After(time.Now())
	case <-c.noticed:
		c.search.reset()
		c.nextSearch = time.Time{}
		c.relent()
		return true
	}
	return false
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// searching reports whether to look for clients by a timer: while there is none, and for a
// while after something has appeared. A client opens its port a moment after its socket.
func (c *Client) searching() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	connected := slices.ContainsFunc(c.peers, func(p *peer) bool {
		s := p.status.State
		return p.running && (s == Ready || s == Degraded || s == Unsupported)
	})
	return !connected || !c.search.grown()
}

// relent forgets what was given up, if the whole list was asked for again.
func (c *Client) relent() {
	for _, p := range c.peers {
		if !p.box.resendAsked() {
			continue
		}
		p.over, p.again = nil, time.Time{}
		switch {
		case p.run == nil:
			clear(p.given)
		case c.stateOf(p) == Unsupported:
			p.run.cancel(errMoved)
		}
	}
}

func (c *Client) stateOf(p *peer) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.status.State
}

// stop ends all sessions in order, and waits for them.
func (c *Client) stop() {
	for _, p := range c.peers {
		if p.run != nil {
			p.run.cancel(errStopping)
		}
	}
	for _, p := range c.peers {
		if p.run != nil {
			<-p.run.done
		}
		p.dropConn()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = nil
	c.status = Status{State: Stopped}
	c.wakeAll()
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
