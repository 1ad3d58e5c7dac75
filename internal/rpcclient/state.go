package rpcclient

import "slices"

// State is what a client is to us. Transitions says how one follows from another.
type State string

// The states, those that are shown as a session with the best first.
const (
	Ready       State = "ready"       // the client has the list and learns of changes at once
	Degraded    State = "degraded"    // the same over HTTP, where the client takes an update every 30 s (rule R67)
	Slow        State = "slow"        // the client has answered before, and an answer is overdue: it may hold an older list
	Connecting  State = "connecting"  // a client was found, no list delivered yet
	Unsupported State = "unsupported" // the client greets and never answers the command (rule R13)
	Refused     State = "refused"     // the client refuses, see Error and Remedy
	Foreign     State = "foreign"     // the client belongs to another user and gets nothing (rule R6)
	Waiting     State = "waiting"     // another client is served, or it may be the same one
	Searching   State = "searching"   // no client found; of a socket or a port: nobody has proved to be one
	Stopped     State = "stopped"

	stranger State = "stranger" // a port that another program holds; not shown as a session
)

// shown are the states of a session, in the order of preference.
var shown = []State{Ready, Degraded, Slow, Connecting, Unsupported, Refused, Foreign, Waiting}

// outcome is what happened to a client, as far as it decides what comes next.
type outcome string

const (
	// While it is talked to.
	onAdmitted outcome = "it may be talked to"
	onHeldUp   outcome = "it has to wait: another one is served, or it may be the same one"
	onAccepted outcome = "it has accepted a list"
	onMetered  outcome = "it has accepted a list over HTTP, and counts tokens"
	onOverdue  outcome = "an answer is overdue, it has answered before"
	onSilent   outcome = "an answer is overdue, it has never answered; or it does not know the command"
	onDeclined outcome = "it has refused a list"

	// At the end of an attempt.
	onLost       outcome = "the connection is lost, or none came about"
	onHung       outcome = "no answer, for longer than anybody waits"
	onTurnedAway outcome = "it refuses the connection for now"
	onClosed     outcome = "it has closed the connection as at its login screen, or has no room"
	onBarred     outcome = "it refuses every transport, until it restarts"
	onIgnorant   outcome = "it does not know the command, and the connection has ended"
	onPresent    outcome = "it was given up, and somebody still listens on its socket"
	onDeaf       outcome = "nobody listens on its socket"
	onNobody     outcome = "nobody listens on its port"
	onNoClient   outcome = "what holds its port does not answer as a client does"
	onDisplaced  outcome = "there is a better way to it, or it may not be talked to any more"
	onRestarted  outcome = "it has restarted meanwhile"

	// Beside all attempts.
	onChanged   outcome = "a place or a setting that it lacked is there, or all is to be sent again"
	onOtherUser outcome = "it belongs to another user, or nobody knows to whom"
)

// pause says when a client is tried next, by itself.
type pause string

const (
	noTry       pause = "" // nothing ends, nothing begins
	tryAtOnce   pause = "at once"
	trySoon     pause = "0.25 s, growing to `rpc.retry_max`"
	tryLater    pause = "30 s, growing to 5 min"
	trySeldom   pause = "1 s, growing to 1 min, then with the searches"
	tryWhenAnew pause = "when it restarts; whether it is there is seen after 30 s, growing to 5 min"
	tryNever    pause = "when its owner changes"
)

// A transition is one line of the table: what a client in one of the states becomes.
type transition struct {
	on   outcome
	from []State // nil: every state that no line before names for this outcome
	to   State   // "": the state stays
	then pause
}

// transitions is all that decides what follows an outcome. docs/architecture.md shows it.
var transitions = []transition{
	{onAdmitted, []State{Slow}, "", noTry},
	{onAdmitted, nil, Connecting, noTry},
	{onHeldUp, nil, Waiting, noTry},
	{onAccepted, nil, Ready, noTry},
	{onMetered, nil, Degraded, noTry},
	{onOverdue, nil, Slow, noTry},
	{onSilent, nil, Unsupported, noTry},
	{onDeclined, nil, Refused, noTry},

	{onLost, nil, Connecting, trySoon},
	{onHung, []State{Slow}, "", trySoon},
	{onHung, nil, Connecting, trySoon},
	{onTurnedAway, nil, Refused, tryLater},
	{onClosed, nil, Refused, trySoon},
	{onBarred, nil, Refused, tryWhenAnew},
	{onIgnorant, nil, Unsupported, tryWhenAnew},
	{onPresent, nil, "", tryWhenAnew},
	{onDeaf, nil, Searching, tryAtOnce},
	{onNobody, nil, Searching, trySoon},
	{onNoClient, nil, stranger, trySeldom},
	{onDisplaced, []State{Slow, Searching, stranger}, "", tryAtOnce},
	{onDisplaced, nil, Connecting, tryAtOnce},
	{onRestarted, nil, Connecting, trySoon},

	{onChanged, []State{stranger, Foreign}, Searching, tryAtOnce},
	{onChanged, nil, "", tryAtOnce},
	{onOtherUser, nil, Foreign, tryNever},
}

// next is the transition of a client in state s.
func next(s State, on outcome) transition {
	for _, t := range transitions {
		if t.on == on && (t.from == nil || slices.Contains(t.from, s)) {
			if t.to == "" {
				t.to = s
			}
			return t
		}
	}
	return transition{on: on, to: s, then: trySoon} // never: a test walks them all
}
