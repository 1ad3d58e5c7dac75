package rpcclient

import "sidetone/internal/transition"

// State is the state of a client. The table transitions says which one follows from another.
type State string

// The states. Those that are shown as a session come first, the best one at the top.
const (
	Ready       State = "ready"       // the client has the list and learns of changes at once
	Degraded    State = "degraded"    // the same over HTTP, where the client takes an update every 30 s (rule R67)
	Slow        State = "slow"        // the client has answered before, and an answer is overdue: it may hold an older list
	Connecting  State = "connecting"  // a client was found, and no list was delivered yet
	Unsupported State = "unsupported" // the client sends READY and never answers the command (rule R13)
	Refused     State = "refused"     // the client refuses, see Error and Remedy
	Foreign     State = "foreign"     // the client belongs to another user and gets nothing (rule R6)
	Waiting     State = "waiting"     // another client is served, or it may be the same one
	Searching   State = "searching"   // no client found; for a socket or a port: its owner has not proved to be one
	Stopped     State = "stopped"

	occupied State = "occupied" // a port that another program holds; not shown as a session
)

// sessionStates are the states that are shown as a session, best first.
var sessionStates = []State{Ready, Degraded, Slow, Connecting, Unsupported, Refused, Foreign, Waiting}

// outcome is an event that decides the next state of a client.
type outcome string

const (
	// During an attempt.
	onAdmitted     outcome = "it may be talked to"
	onMustWait     outcome = "it has to wait: another one is served, or it may be the same one"
	onAccepted     outcome = "it has accepted a list"
	onAcceptedHTTP outcome = "it has accepted a list over HTTP, and counts tokens"
	onOverdue      outcome = "an answer is overdue, it has answered before"
	onUnanswered   outcome = "an answer is overdue, it has never answered; or it does not know the command"
	onListRefused  outcome = "it has refused a list"

	// At the end of an attempt.
	onLost              outcome = "the connection is lost, or none came about"
	onUnheard           outcome = "the connection to its socket ends before any byte of it: nobody is behind a relay"
	onHung              outcome = "no answer, for longer than anybody waits"
	onRefusedForNow     outcome = "it refuses the connection for now"
	onClosed            outcome = "it has closed the connection as at its login screen, or has no room"
	onAllRefused        outcome = "it refuses every transport, until it restarts"
	onUnknownCommand    outcome = "it does not know the command, and the connection has ended"
	onStillListening    outcome = "it was given up, and somebody still listens on its socket"
	onSocketUnreachable outcome = "nobody listens on its socket"
	onPortClosed        outcome = "nobody listens on its port"
	onNotClient         outcome = "what holds its port does not answer as a client does"
	onInterrupted       outcome = "there is a better way to it, or it may not be talked to any more"
	onRestarted         outcome = "it has restarted meanwhile"

	// Outside of attempts.
	onNewChance outcome = "a place or a setting that it lacked is there, or all is to be sent again"
	onOtherUser outcome = "it belongs to another user, or nobody knows to whom"
)

// retry says when a client is tried next, unless something else happens before.
type retry string

const (
	noTry           retry = "" // the attempt goes on
	tryAtOnce       retry = "at once"
	trySoon         retry = "0.25 s, growing to `rpc.retry_max`"
	tryCheaply      retry = "0.25 s, growing to 1.5 s; 30 s after 3 min"
	tryLater        retry = "30 s, growing to 5 min"
	trySeldom       retry = "1 s, growing to 1 min, then with the searches"
	tryAfterRestart retry = "when it restarts; whether it is there is seen after 30 s, growing to 5 min"
	tryNever        retry = "when its owner changes; where that is not seen it is looked at after 30 s, growing to 5 min"
)

var line = transition.NewLine[State, outcome, retry]

// transitions decides what follows from an outcome. docs/states.md shows it.
var transitions = transition.Table[State, outcome, retry]{
	line(onAdmitted, []State{Slow}, "", noTry),
	line(onAdmitted, nil, Connecting, noTry),
	line(onMustWait, nil, Waiting, noTry),
	line(onAccepted, nil, Ready, noTry),
	line(onAcceptedHTTP, nil, Degraded, noTry),
	line(onOverdue, nil, Slow, noTry),
	line(onUnanswered, nil, Unsupported, noTry),
	line(onListRefused, nil, Refused, noTry),

	line(onLost, nil, Connecting, trySoon),
	line(onUnheard, nil, Connecting, tryCheaply),
	line(onHung, []State{Slow}, "", trySoon),
	line(onHung, nil, Connecting, trySoon),
	line(onRefusedForNow, nil, Refused, tryLater),
	line(onClosed, nil, Refused, trySoon),
	line(onAllRefused, nil, Refused, tryAfterRestart),
	line(onUnknownCommand, nil, Unsupported, tryAfterRestart),
	line(onStillListening, nil, "", tryAfterRestart),
	line(onSocketUnreachable, nil, Searching, tryAtOnce),
	line(onPortClosed, nil, Searching, trySoon),
	line(onNotClient, nil, occupied, trySeldom),
	line(onInterrupted, []State{Slow, Searching, occupied}, "", tryAtOnce),
	line(onInterrupted, nil, Connecting, tryAtOnce),
	line(onRestarted, nil, Connecting, trySoon),

	line(onNewChance, []State{occupied, Foreign}, Searching, tryAtOnce),
	line(onNewChance, nil, "", tryAtOnce),
	line(onOtherUser, nil, Foreign, tryNever),
}
