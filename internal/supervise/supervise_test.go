package supervise

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/tabletest"
)

var table = tabletest.Table[agentState, outcome, consequence]{Lines: transitions, Start: due, End: []agentState{ended}}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	table.Walk(t, tabletest.Declared[agentState](t, "agentState"), tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) { table.Shown(t, "and then") }

// desk is a machine of which a test says who is logged on, and how agents end.
type desk struct {
	mu       sync.Mutex
	sessions []Session
	unknown  []uint32      // sessions of which nothing is known; nil with a listing error: all
	listing  error         // why sessions cannot be listed
	starting error         // why no agent can be started
	pause    time.Duration // how long sessions take to be listed
	started  map[Session][]*fakeAgent
	hints    chan struct{}
	sleeps   chan struct{}
	log      logBuffer
}

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (d *desk) Sessions() (Sessions, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	time.Sleep(d.pause)
	if d.listing != nil && d.unknown == nil {
		return Sessions{}, d.listing
	}
	return Sessions{d.sessions, d.unknown}, d.listing
}

func (d *desk) Start(s Session, last int) (Process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.starting != nil {
		return nil, d.starting
	}
	p := &fakeAgent{exit: make(chan int, 1), last: last}
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
	last    int // with which the one before has crashed
	asked   atomic.Bool
	killed  atomic.Bool
	hanging atomic.Bool // does not end when it is asked
	stuck   atomic.Bool // nor when it is killed
	silent  atomic.Bool // does not say that it is alive
	frozen  atomic.Bool // likewise, and it cannot
	deaf    atomic.Bool // no question reaches it
	pings   atomic.Int32
}

func (p *fakeAgent) Ping() { p.pings.Add(1) }

func (p *fakeAgent) Answers() Answer {
	switch {
	case p.deaf.Load():
		return Unasked
	case p.frozen.Load():
		return Unclear
	case p.silent.Load():
		return Silent
	default:
		return Answered
	}
}

func (p *fakeAgent) Wait() int { return <-p.exit }

func (p *fakeAgent) Ask() {
	p.asked.Store(true)
	if !p.hanging.Load() {
		p.exit <- 0
	}
}

func (p *fakeAgent) Kill() {
	p.killed.Store(true)
	if !p.stuck.Load() {
		p.exit <- 1
	}
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
		d := &desk{started: make(map[Session][]*fakeAgent), hints: make(chan struct{}), sleeps: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&Supervisor{Machine: d, Log: slog.New(slog.NewTextHandler(&d.log, nil)), Sleeps: d.sleeps}).Run(ctx, d.hints)
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
		codes := []int{2, 3}
		for try, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			n := len(d.starts(anna))
			d.last(anna).ends(codes[try%2], wait*time.Second-1)
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

// TestUpdate: the newer program is started at once, however often, and that is no failure.
func TestUpdate(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		for n := range 5 {
			d.last(anna).ends(ExitUpdate, 0)
			require.Len(t, d.starts(anna), n+2)
		}
		d.last(anna).ends(2, time.Second)
		require.Len(t, d.starts(anna), 7, "the first wait")
	})
}

func TestWhatTheUserQuitStaysDown(t *testing.T) {
	for _, code := range []int{0, ExitConfig, ExitRunning} {
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

// TestAgentThatEndsWithItsSession is not started into a session that is about to go, and is where the user has called the end off.
func TestAgentThatEndsWithItsSession(t *testing.T) {
	for _, code := range []int{ExitSession, 0x40010004, 0xc000013a} {
		supervised(t, func(d *desk, _ func()) {
			d.now(anna, ben)
			d.last(anna).ends(code, 0)
			d.last(ben).ends(code, maxWait-1)
			d.mu.Lock()
			d.sessions = []Session{ben} // and nobody tells of it
			d.mu.Unlock()
			require.Len(t, d.starts(anna), 1, "code %#x", code)
			require.Len(t, d.starts(ben), 1)
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Len(t, d.starts(anna), 1, "the session is gone")
			require.Len(t, d.starts(ben), 2, "the session has stayed")
		})
	}
}

// TestSessionsAreListedBeforeAStart: after any wait.
func TestSessionsAreListedBeforeAStart(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		d.mu.Lock()
		d.sessions = nil
		d.mu.Unlock()
		d.last(anna).ends(2, time.Hour)
		require.Len(t, d.starts(anna), 1)
	})
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

// TestHintsWhileAnAgentEnds: Windows tells of one log-off several times, and the service may be stopped in the middle of it.
func TestHintsWhileAnAgentEnds(t *testing.T) {
	supervised(t, func(d *desk, end func()) {
		d.now(anna, ben)
		for _, s := range []Session{anna, ben} {
			d.last(s).hanging.Store(true)
			d.last(s).stuck.Store(true)
		}
		d.now(ben)
		time.Sleep(endTime - 1)
		d.now(ben)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.True(t, d.last(anna).killed.Load(), "no later than without the second hint")
		d.now()
		began := time.Now()
		end()
		require.Equal(t, endTime+killTime, time.Since(began))
		require.True(t, d.last(ben).killed.Load())
		d.last(anna).exit <- 1
		d.last(ben).exit <- 1
	})
}

// TestAgentThatIsAskedBeforeASleep, or killed, has its time to end after that: nothing of the supervisor runs meanwhile, either.
func TestAgentThatIsAskedBeforeASleep(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		p := d.last(anna)
		p.hanging.Store(true)
		p.stuck.Store(true)
		d.now()
		require.True(t, p.asked.Load())
		d.pause = time.Hour
		sleeps := func() {
			d.hints <- struct{}{}
			time.Sleep(d.pause + endTime - 1)
			synctest.Wait()
		}
		sleeps()
		require.False(t, p.killed.Load())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.True(t, p.killed.Load(), "once")
		sleeps()
		require.NotContains(t, d.log.String(), "although it was killed")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Contains(t, d.log.String(), "although it was killed")
		p.exit <- 1
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

// TestAgentThatCannotBeKilled: it holds up neither the end of the supervisor nor the next log-on, and what becomes of it later is nobody's.
func TestAgentThatCannotBeKilled(t *testing.T) {
	supervised(t, func(d *desk, end func()) {
		var stuck []*fakeAgent
		stick := func(s Session) {
			p := d.last(s)
			p.hanging.Store(true)
			p.stuck.Store(true)
			stuck = append(stuck, p)
		}
		d.now(anna)
		stick(anna)
		d.now()
		time.Sleep(endTime + killTime)
		synctest.Wait()
		d.now(anna)
		require.Len(t, d.starts(anna), 2)
		stuck[0].exit <- 0
		d.now(anna)
		require.Len(t, d.starts(anna), 2, "the end of the other one is not taken for that of this one")
		require.False(t, d.last(anna).asked.Load())

		stick(anna)
		began := time.Now()
		end()
		require.Equal(t, endTime+killTime, time.Since(began))
		require.True(t, d.last(anna).killed.Load())
		stuck[1].exit <- 0
	})
}

// TestHungAgentThatCannotBeKilled: it is told of once, no other comes beside it, and it is forgotten with its session.
func TestHungAgentThatCannotBeKilled(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		hang := func() *fakeAgent {
			p := d.last(anna)
			p.silent.Store(true)
			p.stuck.Store(true)
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			return p
		}
		p := hang()
		require.Len(t, d.starts(anna), 1, "what it holds, another one would wait for")
		require.Equal(t, 1, strings.Count(d.log.String(), "the agent is killed"))
		require.Equal(t, 1, strings.Count(d.log.String(), "does not end although it was killed"))
		p.ends(1, firstWait)
		require.Len(t, d.starts(anna), 2, "it has ended after all")
		p = hang()
		require.Equal(t, 2, strings.Count(d.log.String(), "does not end although it was killed"))
		d.now()
		d.now(Session{1, 101})
		require.Len(t, d.starts(Session{1, 101}), 1, "the next log-on")
		p.ends(1, time.Hour)
		require.Len(t, d.starts(anna), 2)
	})
}

// TestHungAgentIsStartedAgain: one that has said nothing to two questions is killed. One may have come just before the machine slept.
func TestHungAgentIsStartedAgain(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		p := d.last(anna)
		p.silent.Store(true)
		time.Sleep(pingSoon + pongTime + time.Second) // between two questions
		p.silent.Store(false)
		time.Sleep(time.Hour)
		require.False(t, p.killed.Load())
		p.silent.Store(true)
		time.Sleep(pingEvery + maxPings*pongTime + firstWait)
		synctest.Wait()
		require.True(t, p.killed.Load())
		require.Len(t, d.starts(anna), 2)
		time.Sleep(24 * time.Hour)
		require.Len(t, d.starts(anna), 2)
	})
}

// TestAgentIsSeldomAsked: once in four hours, and soon after what Windows tells of, however often it does.
func TestAgentIsSeldomAsked(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		pings := func(after time.Duration) int {
			time.Sleep(after)
			synctest.Wait()
			return int(d.last(anna).pings.Swap(0))
		}
		d.now(anna)
		require.Equal(t, 1, pings(pingSoon))
		require.Equal(t, 1, pings(pingEvery+pongTime))
		require.Equal(t, 5, pings(24*time.Hour))
		for _, told := range []func(){func() { d.now(anna) }, func() { d.sleeps <- struct{}{} }} {
			for range 9 {
				told()
				require.Zero(t, pings(pingSoon/10))
			}
			require.Equal(t, 1, pings(pingSoon/10))
			d.now(anna)
			require.Zero(t, pings(pingSoon), "it is being asked")
			require.Zero(t, pings(pingEvery))
			require.Equal(t, 1, pings(pongTime))
		}
	})
}

// TestAgentThatWasNotAsked: an agent that is slow to start, or that another goes on for, is asked anew at once, and counts as hung no sooner.
func TestAgentThatWasNotAsked(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		p := d.last(anna)
		p.deaf.Store(true)
		time.Sleep(pingSoon + 3*pongTime + time.Second)
		synctest.Wait()
		require.EqualValues(t, 4, p.pings.Load())
		p.silent.Store(true)
		p.deaf.Store(false)
		time.Sleep(pongTime)
		synctest.Wait()
		require.False(t, p.killed.Load())
		time.Sleep(pongTime)
		synctest.Wait()
		require.True(t, p.killed.Load())
	})
}

// TestFrozenAgentIsLeftAlone: in modern standby Windows suspends what users run, and not the service that asks.
func TestFrozenAgentIsLeftAlone(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		p := d.last(anna)
		p.silent.Store(true)
		time.Sleep(pingSoon + pongTime + time.Second)
		p.frozen.Store(true)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.False(t, p.killed.Load())
		p.frozen.Store(false)
		d.now(anna)
		time.Sleep(pingSoon + pongTime + time.Second)
		require.False(t, p.killed.Load(), "what it was asked before counts no more")
		time.Sleep(pongTime)
		synctest.Wait()
		require.True(t, p.killed.Load(), "it hangs, too")
	})
}

// TestSleepIsNoHang: what an agent had not answered when the machine went to sleep, or has woken, does not count.
func TestSleepIsNoHang(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		p := d.last(anna)
		p.silent.Store(true)
		for range 30 {
			time.Sleep(maxPings * pongTime)
			d.sleeps <- struct{}{}
		}
		require.False(t, p.killed.Load())
		time.Sleep(pingSoon + maxPings*pongTime)
		synctest.Wait()
		require.True(t, p.killed.Load())
	})
}

// TestSessionsOfWhichNothingIsKnownStay: they are looked at again, ever later, and nobody else waits for that.
func TestSessionsOfWhichNothingIsKnownStay(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		d.fails(errors.New("the user of session 1: not yet"), nil)
		d.mu.Lock()
		d.unknown = []uint32{anna.ID}
		d.mu.Unlock()
		d.now(ben)
		require.False(t, d.last(anna).asked.Load(), "unknown is not gone")
		require.Len(t, d.starts(ben), 1)
		d.now()
		require.False(t, d.last(anna).asked.Load())
		require.True(t, d.last(ben).asked.Load(), "that one is known to be gone")
		time.Sleep(time.Hour)
		d.fails(nil, nil)
		time.Sleep(maxWait)
		synctest.Wait()
		require.True(t, d.last(anna).asked.Load())
	})
}

// TestNextAgentHearsOfACrash: some leave no other word than their code.
func TestNextAgentHearsOfACrash(t *testing.T) {
	supervised(t, func(d *desk, _ func()) {
		d.now(anna)
		for _, c := range []struct{ code, heard int }{
			{2, 0},
			{0xc0000005, 0xc0000005},
			{1, 0},
			{0xc0000409, 0xc0000409},
			{0xc000013a, 0},
			{0xc000041d, 0xc000041d},
			{0xe06d7363, 0xe06d7363},
			{0xc0000006, 0xc0000006},
			{0x80000003, 0x80000003},
			{0xc0000602, 0xc0000602},
			{0xc0000420, 0xc0000420},
			{0xc0000142, 0},
		} {
			d.last(anna).ends(c.code, time.Minute)
			require.Equal(t, c.heard, d.last(anna).last)
		}
	})
}
