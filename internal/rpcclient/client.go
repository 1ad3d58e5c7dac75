// Package rpcclient finds the clients' local RPC servers and keeps their lists of certified
// devices up to date. The numbered rules in comments are those of docs/protocol.md.
package rpcclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/signal"
)

// Client reports snapshots to the clients that run. One goroutine, that of Run, knows which
// those are; each is talked to by a goroutine of its own.
type Client struct {
	options        atomic.Pointer[Options]
	scanSignal     signal.Signal // something may have appeared: look closely
	attemptChanged signal.Signal // an attempt has ended, or begun to work
	newList        signal.Signal

	// Owned by Run.
	peers          []*peer // in order of preference; changed under mu
	unreachable    map[string]*unreachableSocket
	notes          []health.Condition
	searchBackoff  *backoff
	lastSearch     time.Time     // since when the next one is waited for; zero: it is due
	searchPause    time.Duration // how long that is, at full pace
	lastScan       time.Time     // when the last scan began
	searchingSince time.Time     // since when nothing has told of a client, and none has gone
	nextResend     time.Time     // zero: never
	newListSearch  time.Time     // when to search because there is a new list; zero: there is none
	unlisted       unlisted
	looked         bool // for all clients there are, at least once

	unwatched   atomic.Bool                      // nothing tells of new clients
	unwatchedBy atomic.Pointer[health.Condition] // why, where something should
	cleared     atomic.Bool                      // the farewell is an empty list, whatever the options say

	mu           sync.Mutex
	newOptions   *Options // that Run has yet to put into force
	newest       *devices.Snapshot
	changed      chan struct{} // closed at the next change of a session
	resendAsked  bool          // the whole list was asked for again
	loggedReason string        // the last reason for having no client that was logged; "" after a delivery
	status       Status        // without the sessions, which are those of peers
	knownClients []KnownClient // of clients that have yet to be found
}

// New returns a Client that does nothing before Run.
func New(opts Options) *Client {
	opts = opts.withDefaults()
	c := &Client{
		scanSignal: signal.New(), attemptChanged: signal.New(), newList: signal.New(), changed: make(chan struct{}),
		unreachable: make(map[string]*unreachableSocket), searchBackoff: opts.backoff(retryFirst, opts.RetryMax),
		status: Status{State: Searching},
	}
	c.options.Store(&opts)
	return c
}

// opts are the options in force. They may be others at the next call.
func (c *Client) opts() *Options { return c.options.Load() }

// Publish makes s the list to report. It never blocks. Only the newest matters: one that was not sent yet is replaced (rule R71).
func (c *Client) Publish(s devices.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = &s
	for _, p := range c.peers {
		p.outbox.put(s)
	}
	c.newList.Notify()
}

// Resend has the whole list sent again even if nothing has changed, as after the machine has slept (rule R52), and gives clients
// that were given up another chance. It never blocks.
func (c *Client) Resend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		p.outbox.askResend()
	}
	c.resendAsked = true
	c.scanSignal.Notify()
}

// Repeat has the whole list sent once more over the connections on which that costs no token, IPC and
// WebSocket (rule R68), because another application's list may have taken devices of it away (rule R90). A list that
// is in flight goes once more, too: which came first is not known. Clients that were given up stay so, and
// a list that was refused goes on waiting for its next try. It never blocks.
func (c *Client) Repeat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		if p.status.Transport != HTTP && p.status.State != Refused {
			p.outbox.askRepeat()
		}
	}
}

// Status returns the present state of all sessions, in the order in which clients are preferred. The caller may keep it.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.status
	st.Sessions = []Session{}
	best := len(sessionStates)
	for _, p := range c.peers {
		if i := slices.Index(sessionStates, p.status.State); i >= 0 {
			st.Sessions = append(st.Sessions, p.status)
			best = min(best, i)
		}
	}
	if st.State != Stopped && best < len(sessionStates) {
		st.State, st.Error, st.Reason, st.NextTry = sessionStates[best], "", nil, time.Time{}
	}
	return st
}

// Changed returns a channel that is closed at the next change of the status. A caller that asks for it
// before it asks for the Status misses nothing.
func (c *Client) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// updateSession changes the status of one session, and wakes the attempts that wait for their turn.
func (c *Client) updateSession(p *peer, f func(*Session)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&p.status)
	c.notifyAll()
}

// locked calls f with mu held.
func (c *Client) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// notifyAll wakes whoever waits for a change of the status. mu is held.
func (c *Client) notifyAll() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Run looks for clients and serves them, until ctx ends. Then it leaves them as the policy for
// the exit says, within StopTimeout, and returns (rules R3, R5, R53); or as they are, if the cause is ErrHandover.
func (c *Client) Run(ctx context.Context) {
	c.locked(func() { c.status = Status{State: Searching} })
	c.restartSearch()
	c.unlisted.expect(c.KnownClients())
	watch := c.watch(ctx)
	defer func() {
		watch.end()
		c.unlisted.tries.Wait()
	}()
	for ctx.Err() == nil {
		if c.reconfigure() {
			watch.end()
			watch = c.watch(ctx)
		}
		c.lastScan = time.Now()
		tick := c.searchIsDue()
		c.collectEnded()
		c.reconcile(c.scan(ctx))
		c.looked = c.looked || ctx.Err() == nil
		c.recall()
		c.updateRelations()
		c.prune()
		c.startAttempts(ctx, tick)
		c.resendWhenDue()
		if tick {
			c.tryUnlisted(ctx)
			c.pauseSearch()
			c.forgetUnfound()
		}
		c.updateStatus()
		c.waitForWork(ctx)
	}
	if errors.Is(context.Cause(ctx), ErrHandover) {
		c.leave()
		return
	}
	c.stop()
}

// watcher tells of new sockets.
type watcher struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (w watcher) end() {
	w.cancel()
	<-w.done
}

func (c *Client) watch(ctx context.Context) watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := watcher{cancel, make(chan struct{})}
	machine := c.opts().Local
	c.unwatched.Store(false)
	c.unwatchedBy.Store(nil)
	go func() {
		defer close(w.done)
		err := machine.Watch(ctx, c.scanSignal.Notify)
		if ctx.Err() != nil || !slices.Contains(c.opts().Transports, IPC) {
			return
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			c.unwatchedBy.Store(&health.Follow(err, health.ClientsUnwatched, health.Warning, nil).Condition)
			c.opts().Log.Warn("new clients are found by searching only", "reason", err)
		}
		c.unwatched.Store(true)
		c.attemptChanged.Notify()
	}()
	return w
}

// minScanInterval is the least time from one look to the next when something appears again and again.
const minScanInterval = 50 * time.Millisecond

// waitForWork waits until there is something to do.
func (c *Client) waitForWork(ctx context.Context) {
	news := c.newList
	if !c.served() || !c.newListSearch.IsZero() {
		news = nil
	}
	var due <-chan time.Time
	if at := c.nextDue(); !at.IsZero() {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-c.attemptChanged:
	case <-due:
	case <-news: // no scan for each list
		c.newListSearch = c.lastScan.Add(newListInterval)
		c.waitForWork(ctx)
	case <-c.scanSignal:
		sleep(ctx, minScanInterval-time.Since(c.lastScan))
		c.restartSearch()
		c.resetGivenUp()
	}
}

// nextDue is when something is to be done without anything happening; zero: nothing.
func (c *Client) nextDue() (at time.Time) {
	if c.searching() {
		at = c.nextSearch()
	}
	at = earlier(at, c.newListSearch)
	farewell := c.farewellUnderWay()
	for _, p := range c.peers {
		switch {
		case p.attempt != nil:
			at = earlier(at, c.nextUpgrade(p))
		case farewell:
		case c.stateOf(p) == occupied && p.probeBackoff.atCeiling(): // it is asked with the next search
		default:
			at = earlier(at, p.nextTry)
		}
	}
	for _, d := range c.unreachable {
		at = earlier(at, d.nextTry)
	}
	return earlier(at, c.nextResend)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// searching reports whether to look for clients by a timer: where nothing tells of what may appear,
// while there is no client, and for a while after something has appeared or gone (a client opens its
// port a moment after its socket). Else one without a socket is looked for when there is a new list.
func (c *Client) searching() bool { return c.unwatched.Load() || !c.served() }

// served reports whether there is a client, and nothing has appeared or gone for a while.
func (c *Client) served() bool { return c.searchBackoff.atCeiling() && c.connected() }

func (c *Client) connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.peers, func(p *peer) bool {
		s := p.status.State
		return p.running && (s == Ready || s == Degraded || s == Slow || s == Unsupported)
	})
}

// slowSearchFactor is how many times RetryMax lie between two searches once they are only for what
// hardly ever appears: clients where nothing tells of them and one is served, and after quickSearchFor
// those without a socket. rareSearchFactor is that for the former then: a new list has them looked for, too.
const (
	slowSearchFactor = 6
	rareSearchFactor = 60
)

// newListInterval is from a scan to the search for a new list: nothing tells of a client without a socket,
// and while another one is served no timer runs.
const newListInterval = 30 * time.Second

// quickSearchFor is for how long a search that finds nothing goes on at its pace: clients with a
// socket, as all that users run, are noticed by an event (rule R72).
const quickSearchFor = 3 * time.Minute

// nextSearch is when to look for clients next without anything happening.
func (c *Client) nextSearch() time.Time {
	factor, long := time.Duration(1), time.Since(c.searchingSince) >= quickSearchFor
	switch {
	case c.served() && long:
		factor = rareSearchFactor
	case c.served(), c.searchBackoff.atCeiling() && long && !c.unwatched.Load():
		factor = slowSearchFactor
	}
	return c.lastSearch.Add(factor * c.searchPause)
}

// searchIsDue reports whether this scan is a search.
func (c *Client) searchIsDue() bool {
	return c.searching() && !c.nextSearch().After(c.lastScan) || !c.newListSearch.IsZero() && !c.newListSearch.After(c.lastScan)
}

// pauseSearch begins to wait for the next search.
func (c *Client) pauseSearch() {
	c.lastSearch, c.searchPause, c.newListSearch = time.Now(), c.searchBackoff.wait(), time.Time{}
}

// restartSearch makes the next searches follow fast.
func (c *Client) restartSearch() {
	c.searchBackoff.reset()
	c.lastSearch, c.searchingSince = time.Time{}, time.Now()
}

// resetGivenUp forgets what was given up, after the whole list was asked for again.
func (c *Client) resetGivenUp() {
	var asked bool
	c.locked(func() { asked, c.resendAsked = c.resendAsked, false })
	if !asked {
		return
	}
	clear(c.unreachable)
	c.unlisted.due = time.Time{}
	for _, p := range c.peers {
		c.applyOutcome(p, onNewChance)
		switch state := c.stateOf(p); {
		case p.attempt == nil:
			c.forgetRefusals(p)
		case state == Unsupported:
			p.attempt.cancel(errReconnect)
		case state == Connecting: // its first list may be without an answer yet
			c.locked(func() { p.askOnceMore = true })
		}
	}
}

func (c *Client) stateOf(p *peer) (s State) {
	c.locked(func() { s = p.status.State })
	return s
}

// inSession reports whether p has a link that works.
func (c *Client) inSession(p *peer) (yes bool) {
	c.locked(func() { yes = p.inSession })
	return yes
}

// stop ends all sessions in order, and waits for them.
func (c *Client) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), c.opts().StopTimeout)
	defer cancel()
	if !c.looked || len(c.KnownClients()) > 0 { // an agent before this one has told them something, which they still have
		clear(c.unreachable) // the look before may have been broken off
		c.reconcile(c.scan(ctx))
		c.recall()
	}
	if !c.looked {
		c.updateRelations()
		c.startAttempts(ctx, false)
	}
	var wg sync.WaitGroup
	for _, p := range c.peers {
		wg.Go(func() {
			if p.attempt != nil {
				c.awaitLastLink(ctx, p)
				p.attempt.cancel(errStopping)
				<-p.attempt.done
				p.attempt.upgrade.close()
				c.takeNextLink(p).close()
			}
			c.farewellWithoutLink(ctx, p)
		})
	}
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = nil
	c.status = Status{State: Stopped}
	c.notifyAll()
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
