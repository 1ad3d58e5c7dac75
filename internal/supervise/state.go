package supervise

import "sidetone/internal/transition"

// life is the state of one session's agent. transitions says which state follows which.
type life string

// The states.
const (
	due     life = "due"     // it is to be started now
	running life = "running" // a process of it runs
	waiting life = "waiting" // it has failed, and is started again after a while
	down    life = "down"    // it is not started again before its user logs on again
	leaving life = "leaving" // it was asked to end
	killed  life = "killed"  // it was killed, as it did not end when it was asked
	stuck   life = "stuck"   // it was killed, as it hung: no other is started before it has ended, as it holds what one needs
	ended   life = "ended"   // nothing of it is left, and it is forgotten
)

// outcome is an event, as far as it decides the next state.
type outcome string

const (
	onStarted outcome = "it was started"
	onFailure outcome = "it has failed, or could not be started"
	onQuit    outcome = "it has ended in order, or so that a new start would not help"
	onDue     outcome = "the wait is over"
	onCutOff  outcome = "it has ended with its session, or was ended from outside"
	onLeave   outcome = "its user logs off, or the supervisor ends"
	onHung    outcome = "it has not answered two questions in a row, each for 2 min"
	onOverdue outcome = "it has not ended 3 s after it was asked, or 2 s after it was killed"
)

// consequence is what the supervisor does at a transition.
type consequence string

const (
	nothing   consequence = ""
	thenStart consequence = "it is started, if its session is still listed"
	thenWait  consequence = "the wait begins: 1 s, growing to 1 min; anew after a minute without a failure"
	thenSee   consequence = "a wait of 1 min begins"
	thenAsk   consequence = "it is asked to end"
	thenWatch consequence = "it is asked whether it is alive: 10 s later, every 4 h, and 10 s after hints"
	thenKill  consequence = "it is killed"
	thenLeave consequence = "it is left alone, which is told once: nobody can kill it"
)

var line = transition.NewLine[life, outcome, consequence]

// transitions decides when agents are started and ended. docs/architecture.md shows it.
var transitions = transition.Table[life, outcome, consequence]{
	line(onStarted, []life{due}, running, thenWatch),
	line(onStarted, nil, "", nothing),
	line(onFailure, []life{due, running, stuck}, waiting, thenWait),
	line(onFailure, []life{leaving, killed}, ended, nothing),
	line(onFailure, nil, "", nothing),
	line(onQuit, []life{running, stuck}, down, nothing),
	line(onQuit, []life{leaving, killed}, ended, nothing),
	line(onQuit, nil, "", nothing),
	line(onCutOff, []life{running, stuck}, waiting, thenSee),
	line(onCutOff, []life{leaving, killed}, ended, nothing),
	line(onCutOff, nil, "", nothing),
	line(onDue, []life{waiting}, due, thenStart),
	line(onDue, nil, "", nothing),
	line(onLeave, []life{running}, leaving, thenAsk),
	line(onLeave, []life{leaving, killed}, "", nothing),
	line(onLeave, nil, ended, nothing),
	line(onHung, []life{running}, stuck, thenKill),
	line(onHung, nil, "", nothing),
	line(onOverdue, []life{leaving}, killed, thenKill),
	line(onOverdue, []life{killed}, ended, thenLeave),
	line(onOverdue, []life{stuck}, "", thenLeave),
	line(onOverdue, nil, "", nothing),
}
