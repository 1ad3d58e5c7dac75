// Package supervise keeps one agent running in each log-in session of a machine, or in one session alone: it starts the agent, restarts
// it after a failure, and ends it with its session. It knows nothing of what an agent does, and reads no file.
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Exit codes of a supervised agent for which a restart would not help. The first two are those of sysexits.h.
const (
	ExitConfig  = 78 // no usable settings; not 2, with which a Go program that panics ends, and which needs a restart
	ExitRunning = 69 // another agent of this user, or for the same client id, runs already
)

// ExitUpdate is the exit code of an agent that makes way for the program that is now on disk, which is started at once.
const ExitUpdate = 76

// ExitSession is the exit code of an agent that ends because Windows has announced the end of its session. Windows tells one program
// after another, and the user may still cancel it.
const ExitSession = 79

// StopEventVariable is the environment variable with the name of the event that asks an agent on Windows to end. An agent that has it is
// supervised.
const StopEventVariable = "AGENT_STOP_EVENT"

// LastExitVariable is the environment variable with the decimal exit code of the crash of the agent before. A crash in foreign code may
// leave no other trace.
const LastExitVariable = "AGENT_LAST_EXIT"

// HostMark is the property that marks the window of a program that supervises the agent of one session.
const HostMark = "SidetoneHost"

// Crashed reports whether a Windows process with that exit code has crashed. Some crashes leave nothing but the code.
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

// cutOff reports whether a Windows process with that exit code has ended with its session or was ended from outside, as are those that
// take too long at a log-off. An agent that is started then would fail or be ended, too.
func cutOff(code int) bool {
	switch uint32(code) {
	case ExitSession, 0x40010004, 0xc000013a: // the others: terminated by the system; Ctrl-C, a closed console or a log-off
		return true
	default:
		return false
	}
}

// AliveEvent returns the name of the event that an agent with such a stop event keeps while it lives. Its supervisor sets the event as a
// question, and the agent resets it once it has checked that it is alive. The event also tells an agent from other processes that it has
// started.
func AliveEvent(stopEvent string, pid uint32) string { return fmt.Sprintf("%s-%d", stopEvent, pid) }

// A Session is a user's session from log-on to log-off. Its number is reused, the pair is not.
type Session struct {
	ID    uint32
	Logon uint64
}

// Sessions are the sessions of a machine.
type Sessions struct {
	Users   []Session // with a logged-on user, whether or not they are active
	Unknown []uint32  // whose state is unknown: whoever was logged on is assumed to be still
}

// A Machine is what is supervised: it lists the sessions with users, and starts an agent in one.
type Machine interface {
	Sessions() (Sessions, error)
	// Start blocks for as long as the system takes, and all other agents wait. last is the exit code with which the agent before has
	// crashed, else 0.
	Start(s Session, last int) (Process, error)
}

// A Process is an agent, including what it has started.
type Process interface {
	Wait() (code int) // called once
	Ask()             // asks it to end in order
	Kill()
	Ping()           // asks whether it is alive
	Answers() Answer // to the Ping before; does not wait
}

// An Answer is the result of a Ping.
type Answer string

// The answers.
const (
	Answered Answer = "answered"
	Silent   Answer = "silent"
	Unasked  Answer = "unasked" // the Ping reached nobody: there was no event yet
	Unclear  Answer = "unclear" // it is frozen, or the system does not say: no sign of a hang
)

const (
	firstWait = time.Second // after a failure
	maxWait   = time.Minute // after many failures; also, after that long without one the count starts over
	endTime   = 3 * time.Second
	killTime  = 2 * time.Second // for a killed process to end
	lookAgain = 5 * time.Second // at sessions that could not be listed, growing to maxWait

	// Each Ping wakes both processes, so they are rare while nothing happens. A user who comes back unlocks or wakes the machine, which
	// triggers one.
	pingEvery = 4 * time.Hour
	pingSoon  = 10 * time.Second // after a start, and after events of Windows, which come in bursts
	pongTime  = 2 * time.Minute  // for an answer
	maxPings  = 2                // in a row without an answer: one may come just before the machine sleeps
)

// A Supervisor looks after the agents of a Machine.
type Supervisor struct {
	Machine Machine
	Log     *slog.Logger
	Down    func(Session, int) // called when an agent has ended with that code and is not restarted; may be nil
	Sleeps  <-chan struct{}    // the machine goes to sleep or has slept: Pings before that no longer count; may be nil

	agents   map[Session]*agent
	ends     chan end
	done     chan struct{} // closed when Run returns
	listAt   time.Time     // when sessions are to be listed again; zero: at the next hint
	listWait time.Duration // the wait before the last listing after a failure
	ending   bool          // Run is ending: no agent is started any more
}

// agent is the agent of one session.
type agent struct {
	session Session
	state   agentState
	process Process
	started time.Time
	wait    time.Duration // the last one
	timer   time.Time     // when the wait or the time to end or answer is over, or the next Ping is due
	last    int           // the exit code of the last crash; 0: none
	pings   int           // unanswered Pings in a row
}

type end struct {
	*agent
	code int
}

// Run keeps an agent running in each session until ctx ends; it returns when all have ended. A hint means that sessions may have changed:
// they are listed again at each.
func (s *Supervisor) Run(ctx context.Context, hints <-chan struct{}) {
	s.agents, s.ends, s.done = make(map[Session]*agent), make(chan end), make(chan struct{})
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	s.listSessions()
	for {
		timer.Stop()
		if at := s.next(); !at.IsZero() {
			timer.Reset(max(0, time.Until(at)))
		}
		select {
		case <-stop:
			stop, hints, s.ending = nil, nil, true
			for _, a := range s.agents {
				s.apply(a, onLeave)
			}
		case <-hints:
			s.listSessions()
			s.pingAll()
		case <-s.Sleeps:
			for _, a := range s.agents {
				a.pings = 0
			}
			s.pingAll()
		case e := <-s.ends:
			s.ended(e)
		case <-timer.C:
			s.handleDue()
		}
		if stop == nil && len(s.agents) == 0 {
			return
		}
	}
}

// listSessions lists the sessions, and starts and ends agents accordingly.
func (s *Supervisor) listSessions() {
	s.listAt = (time.Time{})
	if s.ending {
		return
	}
	all, err := s.Machine.Sessions()
	if err != nil {
		s.Log.Warn("the users' sessions are assumed to be unchanged", "err", err)
	}
	s.listWait = min(max(2*s.listWait, lookAgain), maxWait)
	if err == nil {
		s.listWait = 0
	} else {
		s.listAt = time.Now().Add(s.listWait)
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
			s.apply(a, onLeave)
		}
	}
}

// apply performs the transition after an outcome, and its consequence.
func (s *Supervisor) apply(a *agent, on outcome) {
	t := transitions.After(a.state, on)
	if t.To == a.state && t.Then == nothing {
		return // keep the timer
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
		s.Log.Warn("the agent will be restarted after a wait", "session", a.session.ID, "wait", a.wait)
	case thenPause:
		a.timer = time.Now().Add(maxWait)
	case thenAtOnce:
		a.timer = time.Now()
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
		s.listAt = time.Now() // its user may still be logged on
	}
}

func (s *Supervisor) start(a *agent) {
	var err error
	if a.process, err = s.Machine.Start(a.session, a.last); err != nil {
		s.Log.Error("the agent cannot be started", "session", a.session.ID, "err", err)
		a.started = time.Time{}
		s.apply(a, onFailure)
		return
	}
	a.started = time.Now()
	s.apply(a, onStarted)
	go func() {
		select {
		case s.ends <- end{a, a.process.Wait()}:
		case <-s.done:
		}
	}()
}

func (s *Supervisor) ended(e end) {
	if s.agents[e.session] != e.agent {
		return // it was given up
	}
	on := onFailure
	switch {
	case e.code == 0, e.code == ExitConfig, e.code == ExitRunning:
		on = onQuit
	case e.code == ExitUpdate:
		on = onUpdate
	case cutOff(e.code):
		on = onCutOff
	}
	e.last = 0
	if Crashed(e.code) {
		e.last = e.code
	}
	s.Log.Info("the agent has ended", "session", e.session.ID, "code", e.code)
	s.apply(e.agent, on)
	if e.state == down && s.Down != nil {
		s.Down(e.session, e.code)
	}
}

// next returns when something is due, or the zero time.
func (s *Supervisor) next() (at time.Time) {
	at = s.listAt
	for _, a := range s.agents {
		if !a.timer.IsZero() && (at.IsZero() || a.timer.Before(at)) {
			at = a.timer
		}
	}
	return at
}

// handleDue handles what is due.
func (s *Supervisor) handleDue() {
	now := time.Now()
	if !s.listAt.IsZero() && !s.listAt.After(now) {
		s.listSessions()
	}
	for _, a := range s.agents {
		if a.timer.IsZero() || a.timer.After(now) {
			continue
		}
		switch a.state {
		case running:
			s.ping(a)
		case leaving, killed, stuck:
			if now.Sub(a.timer) >= endTime { // the machine has slept, so the agent has not had the time to end
				a.timer = now.Add(endTime)
				continue
			}
			s.apply(a, onOverdue)
		default:
			s.listSessions()
			if s.agents[a.session] == a {
				s.apply(a, onDue)
			}
		}
	}
}

// pingAll schedules a Ping soon for every agent that has none pending.
func (s *Supervisor) pingAll() {
	soon := time.Now().Add(pingSoon)
	for _, a := range s.agents {
		if a.state == running && a.pings == 0 && a.timer.After(soon) {
			a.timer = soon
		}
	}
}

// ping sends a Ping, or checks the answer to the last one, and kills an agent that hangs.
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
		s.apply(a, onHung)
		return
	}
	a.process.Ping()
	a.pings, a.timer = a.pings+1, time.Now().Add(pongTime)
}
