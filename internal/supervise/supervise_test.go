package supervise

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/tabletest"
)

var table = tabletest.Table[life, outcome, consequence]{Lines: transitions, Start: due, End: []life{ended}}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	table.Walk(t, tabletest.Declared[life](t, "life"), tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) { table.Shown(t, "and then") }

// desk is a machine of which a test says who is logged on, and how agents end.
type desk struct {
	mu       sync.Mutex
	sessions []Session
	listing  error // why sessions cannot be listed
	starting error // why no agent can be started
	started  map[Session][]*fakeAgent
	hints    chan struct{}
}

func (d *desk) Sessions() ([]Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions, d.listing
}

func (d *desk) Start(s Session) (Process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.starting != nil {
		return nil, d.starting
	}
	p := &fakeAgent{exit: make(chan int, 1)}
	d.started[s] = append(d.started[s], p)
	return p, nil
}

// starts are the agents that were started in a session.
func (d *desk) starts(s Session) []*fakeAgent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.started[s]
}

func (d *desk) last(s Session) *fakeAgent { return d.starts(s)[len(d.starts(s))-1] }

// fails has sessions not be listed, or agents not be started.
func (d *desk) fails(listing, starting error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listing, d.starting = listing, starting
}

// now has users logged on, and the supervisor look.
func (d *desk) now(sessions ...Session) {
	d.mu.Lock()
	d.sessions = sessions
	d.mu.Unlock()
	d.hints <- struct{}{}
	synctest.Wait()
}

type fakeAgent struct {
	exit    chan int
	asked   atomic.Bool
	killed  atomic.Bool
	hanging atomic.Bool // does not end when it is asked
}

func (p *fakeAgent) Wait() int { return <-p.exit }

func (p *fakeAgent) Ask() {
	if p.asked.Store(true); !p.hanging.Load() {
		p.exit <- 0
	}
}

func (p *fakeAgent) Kill() {
	p.killed.Store(true)
	p.exit <- 1
}

// ends has an agent end, and lets time pass.
func (p *fakeAgent) ends(code int, pass time.Duration) {
	p.exit <- code
	time.Sleep(pass)
	synctest.Wait()
}

// supervised runs a supervisor in virtual time. end has it end, and returns when it has.
func supervised(t *testing.T, test func(d *desk, end func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{started: make(map[Session][]*fakeAgent), hints: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&Supervisor{Machine: d, Log: slog.New(slog.DiscardHandler)}).Run(ctx, d.hints)
		}()
		end := func() {
			cancel()
			<-done
		}
		test(d, end)
		end()
	})
}

var anna, ben = Session{1, 100}, Session{2, 200}

func TestEachSessionHasItsAgent(t *testing.T) {
	supervised(t, func(d *desk, end func()) {
		d.now(anna)
		d.now(anna, ben)
		d.now(anna, ben)
		require.Len(t, d.starts(anna), 1)
		require.Len(t, d.starts(ben), 1)
		d.now(ben)
		require.True(t, d.last(anna).asked.Load(), "logged off")
		require.False(t, d.last(ben).asked.Load())
		d.now(Session{1, 101}, ben)
		require.Len(t, d.starts(Session{1, 101}), 1, "another log-on has the number now")
		end()
		require.True(t, d.last(ben).asked.Load())
		require.False(t, d.last(ben).killed.Load())
	})
}

func TestAgentIsStartedAgain(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			n := len(d.starts(anna))
			d.last(anna).ends(2, wait*time.Second-1)
			require.Len(t, d.starts(anna), n, "not before %d s", wait)
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.Len(t, d.starts(anna), n+1, "after %d s", wait)
		}
		time.Sleep(time.Minute)
		n := len(d.starts(anna))
		d.last(anna).ends(2, time.Second)
		require.Len(t, d.starts(anna), n+1, "it has run for a minute: the first wait again")
	})
}

func TestWhatTheUserQuitStaysDown(t *testing.T) {
	for _, code := range []int{0, ExitConfig, ExitRunning, ExitReplaced} {
		supervised(t, func(d *desk, _ func()) {
			d.now(anna)
			d.last(anna).ends(code, time.Hour)
			d.now(anna)
			require.Len(t, d.starts(anna), 1, "code %d", code)
			d.now()
			d.now(Session{1, 101})
			require.Len(t, d.starts(Session{1, 101}), 1, "the next log-on")
		})
	}
}

func TestAgentThatHangsIsKilled(t *testing.T) {
	supervised(t, func(d *desk, end func()) {
		d.now(anna)
		d.last(anna).hanging.Store(true)
		d.now()
		require.True(t, d.last(anna).asked.Load())
		time.Sleep(endTime - 1)
		synctest.Wait()
		require.False(t, d.last(anna).killed.Load())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.True(t, d.last(anna).killed.Load())
		d.now(ben)
		d.last(ben).hanging.Store(true)
		end()
		require.True(t, d.last(ben).killed.Load(), "at the end of the supervisor, too")
	})
}

func TestWhatCannotBeStartedIsTriedAgain(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.fails(nil, errors.New("no token"))
		d.now(anna)
		time.Sleep(time.Hour)
		d.fails(nil, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, d.starts(anna), 1)
		d.last(anna).ends(2, 0)
		d.now()
		time.Sleep(time.Hour)
		require.Len(t, d.starts(anna), 1, "logged off while it waited")
	})
}

func TestSessionsThatCannotBeListedStay(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		d.fails(errors.New("busy"), nil)
		d.now()
		require.False(t, d.last(anna).asked.Load(), "unknown is not none")
		d.fails(nil, nil)
		time.Sleep(lookAgain)
		synctest.Wait()
		require.True(t, d.last(anna).asked.Load())
	})
}

func TestUserWhoIsBackBeforeTheAgentHasEnded(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		d.last(anna).hanging.Store(true)
		d.now()
		d.now(anna)
		require.Len(t, d.starts(anna), 1)
		d.last(anna).ends(0, 0)
		require.Len(t, d.starts(anna), 2)
	})
}
