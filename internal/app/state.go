package app

import "sidetone/internal/transition"

// handoverState is the state of an agent between the one before it and the one after it. transitions says which follows from which.
type handoverState string

// The states. Only in reporting and asked does this agent have the locks and send lists.
const (
	preparing   handoverState = "preparing"   // another agent reports; this one reads everything, to go on in its place
	asking      handoverState = "asking"      // it is ready, and has asked the other one to let go
	taking      handoverState = "taking"      // the other one has let go, or is gone: this one takes the locks and the local API
	reporting   handoverState = "reporting"   // it has all that one agent alone can have
	asked       handoverState = "asked"       // another one is ready; this one goes on until each client could be connected to anew
	released    handoverState = "released"    // it has let go of clients, locks and local API, and goes on reading
	reclaiming  handoverState = "reclaiming"  // the other one has failed; this one takes back what it had
	withdrawing handoverState = "withdrawing" // likewise, as it was told to stop: clients are to be told of that
	replaced    handoverState = "replaced"    // the other one has everything, and this one ends
	ended       handoverState = "ended"
)

// outcome is what has happened that decides the next state.
type outcome string

const (
	onReady      outcome = "it has a first list"
	onNotReady   outcome = "it has none for too long"
	onLetGo      outcome = "the other agent has let go"
	onGone       outcome = "the other agent has ended"
	onRefused    outcome = "the other agent refuses, or cannot hand over"
	onTaken      outcome = "it has the locks, and the other agent knows"
	onTooLate    outcome = "somebody else has a lock, or the other agent has taken its own back"
	onAsked      outcome = "another agent asks to go on"
	onClients    outcome = "each client could be connected to anew"
	onNoClients  outcome = "a client does not answer, or has no room for another connection, for too long"
	onConfirmed  outcome = "the other agent has everything"
	onFailed     outcome = "the other agent's connection ends, or it says nothing for 10 s"
	onReclaimed  outcome = "it has the locks again"
	onNeverAgain outcome = "somebody else has had a lock for 30 s, or for 2 s where this one is to end"
	onStop       outcome = "it is told to stop"
)

// consequence is what an agent does when it enters a state.
type consequence string

const (
	nothing         consequence = ""
	thenAsk         consequence = "it asks"
	thenTell        consequence = "the Engine and the clients' sessions are told what the other one has known"
	thenBegin       consequence = "it begins to report"
	thenLeave       consequence = "its sessions end without a word to clients, then it answers with what it knows"
	thenRefuse      consequence = "the one that asks is refused, and ends"
	thenFarewell    consequence = "clients are told, as `rpc.on_exit` has it"
	thenNothingSaid consequence = "clients are told nothing"
	thenFail        consequence = "exit code 1"
	thenReclaim     consequence = "it tries to get the locks, ten times a second"
	thenGoOn        consequence = "its sessions begin anew with what was learnt"
)

var line = transition.NewLine[handoverState, outcome, consequence]

// transitions decides alone who reports. docs/architecture.md shows it.
var transitions = transition.Table[handoverState, outcome, consequence]{
	line(onReady, []handoverState{preparing}, asking, thenAsk),
	line(onReady, nil, "", nothing),
	line(onNotReady, []handoverState{preparing}, ended, thenFail),
	line(onNotReady, nil, "", nothing),
	line(onLetGo, []handoverState{asking}, taking, thenTell),
	line(onLetGo, nil, "", nothing),
	line(onGone, []handoverState{asking}, taking, nothing),
	line(onGone, nil, "", nothing),
	line(onRefused, []handoverState{asking}, ended, thenFail),
	line(onRefused, nil, "", nothing),
	line(onTaken, []handoverState{taking}, reporting, thenBegin),
	line(onTaken, nil, "", nothing),
	line(onTooLate, []handoverState{taking}, ended, thenFail),
	line(onTooLate, nil, "", nothing),

	line(onAsked, []handoverState{reporting}, asked, nothing),
	line(onAsked, nil, "", thenRefuse),
	line(onClients, []handoverState{asked}, released, thenLeave),
	line(onClients, nil, "", nothing),
	line(onNoClients, []handoverState{asked}, reporting, thenRefuse),
	line(onNoClients, nil, "", nothing),
	line(onConfirmed, []handoverState{released, reclaiming}, replaced, thenNothingSaid),
	line(onConfirmed, nil, "", thenRefuse),
	line(onFailed, []handoverState{asked}, reporting, nothing),
	line(onFailed, []handoverState{released}, reclaiming, thenReclaim),
	line(onFailed, nil, "", nothing),
	line(onReclaimed, []handoverState{reclaiming}, reporting, thenGoOn),
	line(onReclaimed, []handoverState{withdrawing}, ended, thenFarewell),
	line(onReclaimed, nil, "", nothing),
	line(onNeverAgain, []handoverState{reclaiming}, ended, thenFail),
	line(onNeverAgain, []handoverState{withdrawing}, ended, thenNothingSaid),
	line(onNeverAgain, nil, "", nothing),

	line(onStop, []handoverState{reporting, asked}, ended, thenFarewell),
	line(onStop, []handoverState{released, reclaiming}, withdrawing, thenReclaim),
	line(onStop, []handoverState{withdrawing, replaced, ended}, "", nothing),
	line(onStop, nil, ended, thenNothingSaid),
}
