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
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/signal"
)

// Client reports snapshots to the running clients. The goroutine of Run keeps track of which
// those are; another goroutine talks to each of them.
type Client struct {
	options        atomic.Pointer[Options]
	scanSignal     signal.Signal // a client may have appeared: search at full pace
	attemptChanged signal.Signal // an attempt has ended or made progress
	newList        signal.Signal
	memory         memory

	// Owned by Run.
	peers          []*peer // in order of preference; changed under mu
	unreachable    map[string]*unreachableSocket
	notes          []health.Condition
	searchBackoff  *link.Backoff
	lastSearch     time.Time     // end of the last timed search; zero: the next one is due
	searchPause    time.Duration // from lastSearch to the next search, at full pace
	lastScan       time.Time     // when the last scan began
	searchingSince time.Time     // when a client last appeared or went away
	nextResend     time.Time     // zero: never
	newListSearch  time.Time     // when to search because there is a new list; zero: there is none
	unlisted       unlisted
	scanned        bool // at least one scan was completed

	unwatched   atomic.Bool                      // new clients are found by searching only
	unwatchedBy atomic.Pointer[health.Condition] // why watching failed; nil: it did not, or this system cannot watch
	leaveWith   atomic.Pointer[ExitPolicy]       // instead of Options.OnExit; nil: that
	kept        atomic.Int32                     // see KeepLists

	mu           sync.Mutex
	newOptions   *Options // not put into force by Run yet
	newest       *devices.Snapshot
	changed      chan struct{} // closed at the next change of the status
	resendAsked  bool          // Resend was called
	loggedReason string        // the last reason for having no client that was logged; "" after a delivery
	status       Status        // without the sessions, which are in peers
}

// New returns a Client. It does nothing until Run is called.
func New(opts Options) *Client {
	opts = opts.withDefaults()
	c := &Client{
		scanSignal: signal.New(), attemptChanged: signal.New(), newList: signal.New(), changed: make(chan struct{}),
		unreachable: make(map[string]*unreachableSocket), searchBackoff: opts.backoff(retryFirst, opts.RetryMax),
		status: Status{State: Searching}, memory: memory{changed: signal.New()},
	}
	c.options.Store(&opts)
	if err := c.memory.read(opts.Memory); err != nil {
		opts.Log.Warn("which clients have answered before is forgotten", "reason", err)
	}
	return c
}

// opts returns the options in force. The next call may return others.
func (c *Client) opts() *Options { return c.options.Load() }

// Publish makes s the list to report. It never blocks. A list that was not sent yet is replaced (rule R71).
func (c *Client) Publish(s devices.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = &s
	for _, p := range c.peers {
		p.outbox.Put(s)
	}
	c.newList.Notify()
}

// Resend sends the whole list again even if nothing has changed, for example after the machine has slept (rule R52). Clients
// that were given up are tried again. It never blocks.
func (c *Client) Resend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		p.outbox.AskResend()
	}
	c.resendAsked = true
	c.scanSignal.Notify()
}

// Repeat sends the whole list once more over IPC and WebSocket, where that costs no token (rule R68), because another
// application's list may have removed devices of it (rule R90). A list in flight is sent again, too, because nobody
// knows which list came first. Clients that were given up stay so, and a refused list still waits for its next try. It
// never blocks.
func (c *Client) Repeat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		if p.status.Transport != HTTP && p.status.State != Refused {
			p.outbox.AskRepeat()
		}
	}
}

// Status returns the present state of all sessions, preferred clients first. The caller may keep it.
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

// Changed returns a channel that is closed at the next change of the status. A caller that calls it
// before Status misses no change.
func (c *Client) Changed() <-chan struct{} {
	return read(c, func() <-chan struct{} { return c.changed })
}

// updateSession changes the status of one session, and wakes the attempts that are waiting for their turn.
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

// read returns what f returns with c.mu held.
func read[T any](c *Client, f func() T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return f()
}

// notifyAll announces a change of the status. mu is held.
func (c *Client) notifyAll() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Run looks for clients and serves them until ctx ends. Then it sends them the farewell that
// Options.OnExit asks for, within StopTimeout (rules R3, R5, R53).
func (c *Client) Run(ctx context.Context) {
	c.locked(func() { c.status = Status{State: Searching} })
	c.restartSearch()
	stopWatching := c.watch(ctx)
	stopWriting := c.writeMemory()
	defer func() {
		stopWatching()
		c.unlisted.tries.Wait()
		stopWriting()
	}()
	for ctx.Err() == nil {
		if c.reconfigure() {
			stopWatching()
			stopWatching = c.watch(ctx)
		}
		c.lastScan = time.Now()
		tick := c.searchIsDue()
		c.collectEnded()
		c.reconcile(c.scan(ctx))
		c.scanned = c.scanned || ctx.Err() == nil
		c.updateRelations()
		c.prune()
		c.startAttempts(ctx, tick)
		c.resendWhenDue()
		if tick {
			c.tryUnlisted(ctx)
			c.pauseSearch()
		}
		c.updateStatus()
		c.waitForWork(ctx)
	}
	c.stop()
}

// watch starts watching for sockets that appear or go away. stop ends that, and waits for its end.
func (c *Client) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	machine := c.opts().Local
	c.unwatched.Store(false)
	c.unwatchedBy.Store(nil)
	var watching sync.WaitGroup
	watching.Go(func() {
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
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// writeMemory begins to store what is remembered of clients. stop ends that, and waits for its end.
func (c *Client) writeMemory() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var writing sync.WaitGroup
	writing.Go(func() {
		c.memory.write(ctx, func() Store { return c.opts().Memory }, func(err error) {
			c.opts().Log.Warn("the next agent will not know which clients have answered", "reason", err)
		})
	})
	return func() {
		cancel()
		writing.Wait()
	}
}

// minScanInterval is the shortest time between two scans when sockets keep appearing.
const minScanInterval = 50 * time.Millisecond

// waitForWork waits until there is something to do.
func (c *Client) waitForWork(ctx context.Context) {
	news := c.newList
	if !c.served() || !c.newListSearch.IsZero() {
		news = nil
	}
	var due <-chan time.Time
	if at := c.nextDue(); !at.IsZero() {
		due = time.After(time.Until(at))
	}
	select {
	case <-c.attemptChanged: // first: the next scan for new clients may have to wait
		return
	default:
	}
	select {
	case <-ctx.Done():
	case <-c.attemptChanged:
	case <-due:
	case <-news: // no scan for each list
		c.newListSearch = c.lastScan.Add(newListInterval)
		c.waitForWork(ctx)
	case <-c.scanSignal:
		_ = signal.Sleep(ctx, minScanInterval-time.Since(c.lastScan))
		c.restartSearch()
		c.resetGivenUp()
	}
}

// nextDue returns when a timer has to wake Run next; zero: never.
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
		case c.stateOf(p) == occupied && p.probeBackoff.AtCeiling(): // it is probed with the next search
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

// searching reports whether a timer triggers searches: where the system does not announce new clients,
// while there is no client, and for a while after a client has appeared or gone (it opens its port a
// moment after its socket). Otherwise a new list triggers a search for clients without a socket.
func (c *Client) searching() bool { return c.unwatched.Load() || !c.served() }

// served reports whether there is a client, and none has appeared or gone for a while.
func (c *Client) served() bool { return c.searchBackoff.AtCeiling() && c.connected() }

func (c *Client) connected() bool {
	inTouch := []State{Ready, Degraded, Slow, Unsupported}
	return read(c, func() bool {
		return slices.ContainsFunc(c.peers, func(p *peer) bool { return p.running && slices.Contains(inTouch, p.status.State) })
	})
}

// Factors that lengthen the pause between two searches for clients that hardly ever appear. The slow one applies while a client is
// served on a system that does not announce new ones, and after quickSearchFor where only clients without a socket can still be
// missing. The rare one replaces it in the former case after quickSearchFor: a new list triggers a search, too.
const (
	slowSearchFactor = 6
	rareSearchFactor = 60
)

// newListInterval is the time from a scan to the search that a new list triggers: a client without a socket is not
// announced, and no timer runs while another one is served.
const newListInterval = 30 * time.Second

// quickSearchFor is how long searches without result go on at full pace: clients with a
// socket, which all clients of users have, are noticed by an event (rule R72).
const quickSearchFor = 3 * time.Minute

// nextSearch returns when the timer triggers the next search.
func (c *Client) nextSearch() time.Time {
	factor, long := time.Duration(1), time.Since(c.searchingSince) >= quickSearchFor
	switch {
	case c.served() && long:
		factor = rareSearchFactor
	case c.served(), c.searchBackoff.AtCeiling() && long && !c.unwatched.Load():
		factor = slowSearchFactor
	}
	return c.lastSearch.Add(factor * c.searchPause)
}

// searchIsDue reports whether the present scan is a search.
func (c *Client) searchIsDue() bool {
	return c.searching() && !c.nextSearch().After(c.lastScan) || !c.newListSearch.IsZero() && !c.newListSearch.After(c.lastScan)
}

// pauseSearch schedules the next search.
func (c *Client) pauseSearch() {
	c.lastSearch, c.searchPause, c.newListSearch = time.Now(), c.searchBackoff.Wait(), time.Time{}
}

// restartSearch searches at once, and then at full pace.
func (c *Client) restartSearch() {
	c.searchBackoff.Reset()
	c.lastSearch, c.searchingSince = time.Time{}, time.Now()
}

// resetGivenUp tries all clients again after a Resend.
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
		case state == Connecting: // its first list may not be answered yet
			c.locked(func() { p.askOnceMore = true })
		}
	}
}

func (c *Client) stateOf(p *peer) State { return read(c, func() State { return p.status.State }) }

// inSession reports whether p has a working link.
func (c *Client) inSession(p *peer) bool { return read(c, func() bool { return p.inSession }) }

// stop ends all sessions with a farewell, and waits for them.
func (c *Client) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), c.opts().StopTimeout)
	defer cancel()
	if !c.scanned { // clients may still have a list of the agent before this one
		clear(c.unreachable) // the last scan may have been interrupted
		c.reconcile(c.scan(ctx))
		c.updateRelations()
		c.startAttempts(ctx, false)
	}
	var wg sync.WaitGroup
	for _, p := range c.peers {
		wg.Go(func() {
			if p.attempt != nil {
				c.awaitLastLink(ctx, p)
				p.attempt.cancel(errStopping)
				c.closeLinks(p, p.attempt)
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
