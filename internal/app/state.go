package app

import "slices"

// life is how far this agent is between the one before it and the one after it. Transitions says how one state follows from another.
type life string

// The states. In reporting, asked and no other this agent sends lists: it has the locks.
const (
	preparing  life = "preparing"  // another agent reports; this one reads everything, to go on in its place
	asking     life = "asking"     // it is ready, and has asked the other one to let go
	taking     life = "taking"     // the other one has let go, or is gone: this one takes the locks and the local API
	reporting  life = "reporting"  // it has all that one agent alone can have
	asked      life = "asked"      // another one is ready; this one goes on until each client could be connected to anew
	released   life = "released"   // it has let go of clients, locks and local API, and goes on reading
	reclaiming life = "reclaiming" // the other one has failed; this one takes back what it had
	ended      life = "ended"
)

// outcome is what happened, as far as it decides what comes next.
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
	onNeverAgain outcome = "somebody else has had a lock for 30 s"
	onStop       outcome = "it is told to stop"
)

// consequence is what an agent does on its way to a state.
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

// A transition is one line of the table: what an agent in one of the states becomes.
type transition struct {
	on   outcome
	from []life // nil: every state that no line before names for this outcome
	to   life   // "": the state stays
	then consequence
}

// transitions is all that decides who reports. docs/architecture.md shows it.
var transitions = []transition{
	{onReady, []life{preparing}, asking, thenAsk},
	{onReady, nil, "", nothing},
	{onNotReady, []life{preparing}, ended, thenFail},
	{onNotReady, nil, "", nothing},
	{onLetGo, []life{asking}, taking, thenTell},
	{onLetGo, nil, "", nothing},
	{onGone, []life{asking}, taking, nothing},
	{onGone, nil, "", nothing},
	{onRefused, []life{asking}, ended, thenFail},
	{onRefused, nil, "", nothing},
	{onTaken, []life{taking}, reporting, thenBegin},
	{onTaken, nil, "", nothing},
	{onTooLate, []life{taking}, ended, thenFail},
	{onTooLate, nil, "", nothing},

	{onAsked, []life{reporting}, asked, nothing},
	{onAsked, nil, "", thenRefuse},
	{onClients, []life{asked}, released, thenLeave},
	{onClients, nil, "", nothing},
	{onNoClients, []life{asked}, reporting, thenRefuse},
	{onNoClients, nil, "", nothing},
	{onConfirmed, []life{released, reclaiming}, ended, thenNothingSaid},
	{onConfirmed, nil, "", thenRefuse},
	{onFailed, []life{asked}, reporting, nothing},
	{onFailed, []life{released}, reclaiming, thenReclaim},
	{onFailed, nil, "", nothing},
	{onReclaimed, []life{reclaiming}, reporting, thenGoOn},
	{onReclaimed, nil, "", nothing},
	{onNeverAgain, []life{reclaiming}, ended, thenFail},
	{onNeverAgain, nil, "", nothing},

	{onStop, []life{reporting, asked}, ended, thenFarewell},
	{onStop, nil, ended, thenNothingSaid},
}

// transitionFor is the transition of an agent in state s.
func transitionFor(s life, on outcome) transition {
	for _, t := range transitions {
		if t.on == on && (t.from == nil || slices.Contains(t.from, s)) {
			if t.to == "" {
				t.to = s
			}
			return t
		}
	}
	return transition{on: on, to: s} // never: a test walks them all
}
