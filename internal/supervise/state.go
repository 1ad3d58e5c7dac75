package supervise

import "sidetone/internal/transition"

// agentState is the state of one session's agent. transitions says which state follows which.
type agentState string

const (
	due     agentState = "due"     // it is about to be started
	running agentState = "running" // a process of it runs
	waiting agentState = "waiting" // it has failed, and will be restarted after a wait
	down    agentState = "down"    // it stays down until its user logs on again
	leaving agentState = "leaving" // it was asked to end
	killed  agentState = "killed"  // it was killed because it did not end when asked
	stuck   agentState = "stuck"   // it was killed because it hung; its locks keep another from starting before it has ended
	ended   agentState = "ended"   // none of its processes is left
)

// outcome is an event, as far as it decides the next state.
type outcome string

const (
	onStarted outcome = "it was started"
	onFailure outcome = "it has failed, or could not be started"
	onQuit    outcome = "it has ended in order, or so that a new start would not help"
	onUpdate  outcome = "it has made way for the program that is now on disk"
	onDue     outcome = "the wait is over"
	onCutOff  outcome = "it has ended with its session, or was ended from outside"
	onLeave   outcome = "its user logs off, or the supervisor ends"
	onHung    outcome = "it has not answered two questions in a row, each for 2 min"
	onOverdue outcome = "it has not ended 3 s after it was asked, or 2 s after it was killed"
)

// consequence is what the supervisor does at a transition.
type consequence string

const (
	nothing    consequence = ""
	thenStart  consequence = "it is started, if its session is still listed"
	thenWait   consequence = "the wait begins: 1 s, growing to 1 min; anew after a minute without a failure"
	thenPause  consequence = "a wait of 1 min begins"
	thenAtOnce consequence = "it is started at once, if its session is still listed"
	thenAsk    consequence = "it is asked to end"
	thenWatch  consequence = "it is asked whether it is alive: 10 s later, every 4 h, and 10 s after hints"
	thenKill   consequence = "it is killed"
	thenLeave  consequence = "it is left alone, which is told once: nobody can kill it"
)

var line = transition.NewLine[agentState, outcome, consequence]

// transitions decides when agents are started and ended. docs/states.md shows it.
var transitions = transition.Table[agentState, outcome, consequence]{
	line(onStarted, []agentState{due}, running, thenWatch),
	line(onStarted, nil, "", nothing),
	line(onFailure, []agentState{due, running, stuck}, waiting, thenWait),
	line(onFailure, []agentState{leaving, killed}, ended, nothing),
	line(onFailure, nil, "", nothing),
	line(onQuit, []agentState{running, stuck}, down, nothing),
	line(onQuit, []agentState{leaving, killed}, ended, nothing),
	line(onQuit, nil, "", nothing),
	line(onCutOff, []agentState{running, stuck}, waiting, thenPause),
	line(onCutOff, []agentState{leaving, killed}, ended, nothing),
	line(onCutOff, nil, "", nothing),
	line(onUpdate, []agentState{running, stuck}, waiting, thenAtOnce),
	line(onUpdate, []agentState{leaving, killed}, ended, nothing),
	line(onUpdate, nil, "", nothing),
	line(onDue, []agentState{waiting}, due, thenStart),
	line(onDue, nil, "", nothing),
	line(onLeave, []agentState{running}, leaving, thenAsk),
	line(onLeave, []agentState{leaving, killed}, "", nothing),
	line(onLeave, nil, ended, nothing),
	line(onHung, []agentState{running}, stuck, thenKill),
	line(onHung, nil, "", nothing),
	line(onOverdue, []agentState{leaving}, killed, thenKill),
	line(onOverdue, []agentState{killed}, ended, thenLeave),
	line(onOverdue, []agentState{stuck}, "", thenLeave),
	line(onOverdue, nil, "", nothing),
}
