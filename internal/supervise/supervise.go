// Package supervise keeps one agent running in each log-in session of a machine, or in one session alone: it starts it, starts it again
// after a failure, and has it end with its session. It knows nothing of what an agent does, and reads no file.
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// The codes with which an agent ends that somebody supervises, where a new start would not help. The first two are those of sysexits.h.
const (
	ExitConfig   = 78 // there are no settings to work with
	ExitRunning  = 69 // another agent of this user, or for the same client id, runs already
	ExitReplaced = 75 // another's process goes on in its place, and nobody here looks after that
)

// ExitSucceeded is the code with which an agent ends in whose place a process goes on that it has started. That is looked after from then
// on; where it has ended by then, too, it has failed.
const ExitSucceeded = 76

// ExitSession is the code with which an agent ends as Windows has said that its session does. Windows says so to one program after another,
// and the user may yet call it off.
const ExitSession = 79

// StopEventVariable is the environment variable that names the event by which an agent on Windows is asked to end. An agent that has it is
// supervised.
const StopEventVariable = "AGENT_STOP_EVENT"

// LastExitVariable is the environment variable that tells an agent with which code the one before it has crashed, in decimals. Who crashes
// in foreign code may leave no other word.
const LastExitVariable = "AGENT_LAST_EXIT"

// HostMark is what a program that looks after the agent of one session alone has Windows mark its window with.
const HostMark = "SidetoneHost"

// Crashed reports whether a process on Windows that ended with that code has crashed. Some crashes leave nothing but the code.
func Crashed(code int) bool {
	switch uint32(code) {
	case 3, // abort of the C library
		0xc0000005, 0xc000001d, 0xc0000094, 0xc00000fd, // access violation, illegal instruction, division by zero, stack overflow
		0xc0000006, 0x80000003, 0xe06d7363, // page that could not be read, breakpoint, exception of C++
		0xc0000374, 0xc0000409, 0xc0000602, // corrupted heap, fail fast, likewise
		0xc000041d, 0xc0000420: // exception in a window's procedure, assertion
		return true
	default:
		return false
	}
}

// cutOff reports whether a process on Windows that ended with that code has ended with its session, or was ended from outside, as at a
// log-off those are that take their time. One that is started then fails, or is ended, too.
func cutOff(code int) bool {
	switch uint32(code) {
	case ExitSession, 0x40010004, 0xc000013a: // the others: ended by the system; by Ctrl-C, a console that is closed, or the log-off
		return true
	default:
		return false
	}
}

// AliveEvent names the event that an agent with such a variable makes for as long as it lives. Who supervises it sets the event as a
// question, and the agent resets it once it has found itself alive. By that event an agent is also told from what else it has started.
func AliveEvent(stopEvent string, pid uint32) string { return fmt.Sprintf("%s-%d", stopEvent, pid) }

// A Session is one of a user, from log-on to log-off. Its number is used again, the pair is not.
type Session struct {
	ID    uint32
	Logon uint64
}

// Sessions are those of a machine.
type Sessions struct {
	Users   []Session // in which a user is logged on, whether or not the user is there
	Unknown []uint32  // of which the system does not tell: who was logged on there is taken to be so still
}

// A Machine is what is supervised: where there are users, and how an agent is started for one.
type Machine interface {
	Sessions() (Sessions, error)
	// Start takes as long as the system does, and all other agents wait for it. last is the code with which the one before has ended, if it
	// has crashed; else 0.
	Start(s Session, last int) (Process, error)
}

// A Process is an agent, with whatever goes on in its place.
type Process interface {
	Wait() (code int) // returns when nothing of it is left; called once
	Ask()             // has it end in order
	Kill()
	Ping()           // asks whether it is alive
	Answers() Answer // to the Ping before; does not wait
}

// An Answer is what an agent has said to a Ping.
type Answer string

// The answers.
const (
	Answered Answer = "answered"
	Silent   Answer = "silent"
	Unasked  Answer = "unasked" // the question has reached nobody: there was no event yet, or another process goes on since
	Unclear  Answer = "unclear" // it is frozen, or the system does not tell: no reason to take it for hung
)

const (
	firstWait = time.Second // after a failure
	maxWait   = time.Minute // likewise, after many; and how long without one makes the next the first
	endTime   = 3 * time.Second
	killTime  = 2 * time.Second // for a process to end that is killed
	lookAgain = 5 * time.Second // at sessions, where they could not be listed, growing to maxWait

	// Each question wakes both processes, so while nothing happens there is next to none. A user who comes back unlocks or wakes the machine,
	// which asks.
	pingEvery = 4 * time.Hour
	pingSoon  = 10 * time.Second // after a start, and after what Windows tells of, which comes in bursts
	pongTime  = 2 * time.Minute  // for an answer
	maxPings  = 2                // in a row without an answer: one may come just before the machine sleeps
)

// A Supervisor looks after the agents of a Machine.
type Supervisor struct {
	Machine Machine
	Log     *slog.Logger
	Down    func(Session, int) // an agent has ended with that code, and is not started again; nil: nobody wants to know
	Sleeps  <-chan struct{}    // the machine goes to sleep, or has slept: what was not answered before counts no more; nil: nobody tells

	agents map[Session]*agent
	ends   chan end
	done   chan struct{} // closed: nobody hears of ends any more
	again  time.Time     // when sessions are to be listed again; zero: at the next hint
	unsure time.Duration // how long was waited before they were listed last
	leaves bool          // no agent is started any more
}

// agent is that of one session.
type agent struct {
	session Session
	state   life
	process Process
	started time.Time
	wait    time.Duration // the last one
	timer   time.Time     // when the wait, or the time in which it is to end or answer, is over, or it is asked again
	last    int           // the code with which it has crashed; 0: it has not
	pings   int           // how many in a row it has not answered yet
}

type end struct {
	*agent
	code int
}

// Run starts an agent in each session and keeps it running until ctx ends; then it returns when all have ended. A hint says that sessions
// may have changed: it carries no truth, they are listed anew at each.
func (s *Supervisor) Run(ctx context.Context, hints <-chan struct{}) {
	s.agents, s.ends, s.done = make(map[Session]*agent), make(chan end), make(chan struct{})
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	s.look()
	for {
		timer.Stop()
		if at := s.next(); !at.IsZero() {
			timer.Reset(max(0, time.Until(at)))
		}
		select {
		case <-stop:
			stop, hints, s.leaves = nil, nil, true
			for _, a := range s.agents {
				s.happens(a, onLeave)
			}
		case <-hints:
			s.look()
			s.pingAll()
		case <-s.Sleeps:
			for _, a := range s.agents {
				a.pings = 0
			}
			s.pingAll()
		case e := <-s.ends:
			s.ended(e)
		case <-timer.C:
			s.expire()
		}
		if stop == nil && len(s.agents) == 0 {
			return
		}
	}
}

// look lists the sessions, and begins and ends agents with them.
func (s *Supervisor) look() {
	if s.again = (time.Time{}); s.leaves {
		return
	}
	all, err := s.Machine.Sessions()
	if err != nil {
		s.Log.Warn("the sessions of users are taken to be those of before", "err", err)
	}
	if s.unsure = min(max(2*s.unsure, lookAgain), maxWait); err == nil {
		s.unsure = 0
	} else {
		s.again = time.Now().Add(s.unsure)
	}
	there := make(map[Session]bool)
	for session := range s.agents {
		there[session] = err != nil && (all.Unknown == nil || slices.Contains(all.Unknown, session.ID))
	}
	for _, session := range all.Users {
		there[session] = true
		if s.agents[session] == nil {
			a := &agent{session: session, state: due}
			s.agents[session] = a
			s.start(a)
		}
	}
	for session, a := range s.agents {
		if !there[session] {
			s.happens(a, onLeave)
		}
	}
}

// happens puts the transition after an outcome into force, and does what else follows.
func (s *Supervisor) happens(a *agent, on outcome) {
	t := transitions.After(a.state, on)
	if t.To == a.state && t.Then == nothing {
		return // what is due stays so
	}
	a.state, a.timer = t.To, time.Time{}
	switch t.Then {
	case thenStart:
		s.start(a)
	case thenWait:
		a.wait = min(max(2*a.wait, firstWait), maxWait)
		if !a.started.IsZero() && time.Since(a.started) >= maxWait {
			a.wait = firstWait
		}
		a.timer = time.Now().Add(a.wait)
		s.Log.Warn("the agent is started again after a while", "session", a.session.ID, "wait", a.wait)
	case thenSee:
		a.timer = time.Now().Add(maxWait)
	case thenWatch:
		a.pings, a.timer = 0, time.Now().Add(pingSoon)
	case thenAsk:
		a.process.Ask()
		a.timer = time.Now().Add(endTime)
	case thenKill:
		s.Log.Warn("the agent is killed", "session", a.session.ID, "reason", on)
		a.process.Kill()
		a.timer = time.Now().Add(killTime)
	case thenLeave:
		s.Log.Error("the agent does not end although it was killed: a driver may hang, restart the machine", "session", a.session.ID)
	}
	if a.state == ended {
		delete(s.agents, a.session)
		s.again = time.Now() // its user may have been there all the time
	}
}

func (s *Supervisor) start(a *agent) {
	var err error
	if a.process, err = s.Machine.Start(a.session, a.last); err != nil {
		s.Log.Error("the agent cannot be started", "session", a.session.ID, "err", err)
		a.started = time.Time{}
		s.happens(a, onFailure)
		return
	}
	a.started = time.Now()
	s.happens(a, onStarted)
	go func() {
		select {
		case s.ends <- end{a, a.process.Wait()}:
		case <-s.done:
		}
	}()
}

func (s *Supervisor) ended(e end) {
	if s.agents[e.session] != e.agent {
		return // it was left alone
	}
	on := onFailure
	switch {
	case e.code == 0, e.code == ExitConfig, e.code == ExitRunning, e.code == ExitReplaced:
		on = onQuit
	case cutOff(e.code):
		on = onCutOff
	}
	if e.last = 0; Crashed(e.code) {
		e.last = e.code
	}
	s.Log.Info("the agent has ended", "session", e.session.ID, "code", e.code)
	if s.happens(e.agent, on); e.state == down && s.Down != nil {
		s.Down(e.session, e.code)
	}
}

// next is when something is due; zero: nothing is.
func (s *Supervisor) next() (at time.Time) {
	at = s.again
	for _, a := range s.agents {
		if !a.timer.IsZero() && (at.IsZero() || a.timer.Before(at)) {
			at = a.timer
		}
	}
	return at
}

// expire does what is due.
func (s *Supervisor) expire() {
	now := time.Now()
	if !s.again.IsZero() && !s.again.After(now) {
		s.look()
	}
	for _, a := range s.agents {
		if a.timer.IsZero() || a.timer.After(now) {
			continue
		}
		switch a.state {
		case running:
			s.ping(a)
		case leaving, killed, stuck:
			if now.Sub(a.timer) >= endTime { // the machine has slept, and the agent not had the time to end
				a.timer = now.Add(endTime)
				continue
			}
			s.happens(a, onOverdue)
		default:
			if s.look(); s.agents[a.session] == a {
				s.happens(a, onDue)
			}
		}
	}
}

// pingAll has all agents asked soon that are not being asked.
func (s *Supervisor) pingAll() {
	soon := time.Now().Add(pingSoon)
	for _, a := range s.agents {
		if a.state == running && a.pings == 0 && a.timer.After(soon) {
			a.timer = soon
		}
	}
}

// ping asks an agent whether it is alive, or looks for its answer, and has one that hangs end.
func (s *Supervisor) ping(a *agent) {
	if a.pings > 0 {
		switch a.process.Answers() {
		case Silent:
		case Unasked:
			a.pings = 0
		default:
			a.pings, a.timer = 0, time.Now().Add(pingEvery)
			return
		}
	}
	if a.pings == maxPings {
		s.happens(a, onHung)
		return
	}
	a.process.Ping()
	a.pings, a.timer = a.pings+1, time.Now().Add(pongTime)
}
