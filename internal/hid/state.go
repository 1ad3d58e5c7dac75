package hid

import (
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/transition"
)

// state is what is known of a rule on a device. Transitions says how one follows from another.
type state string

// The states. The value is known in stated and counted, and in no other.
const (
	unknown      state = "unknown"      // nothing has told it since it was forgotten
	stated       state = "stated"       // the device has told it, or starts with it
	counted      state = "counted"      // a toggle: presses have turned it since it was stated
	ambiguous    state = "ambiguous"    // a toggle: it was pressed, and nobody knows on which side it is
	unrecognised state = "unrecognised" // the device has told something that the rule does not know
)

func (s state) known() bool { return s == stated || s == counted }

// outcome is what has happened to a rule on a device, as far as it decides what is known.
type outcome string

const (
	onStarted      outcome = "the device was plugged in, or its headset switched on, and starts with a state"
	onStated       outcome = "the device has told a state"
	onRepeated     outcome = "the device has told the state that was known"
	onUnrecognised outcome = "the device has told something that the rule does not know"
	onUnconfirmed  outcome = "it was asked, and no state came; or a receiver says that its device has come or gone"
	onForgotten    outcome = "reports were lost, the machine slept, the link or what it depends on is another, or it is asked anew"

	// Of toggles.
	onAnchored     outcome = "its anchor has told the state"
	onPressed      outcome = "it was pressed"
	onPressedLate  outcome = "it was pressed less than 0.2 s from an answer that came another way"
	onHeld         outcome = "its button is down, and nobody knows whether it was before"
	onAskedBefore  outcome = "its anchor has answered what was asked before the press"
	onPressedEarly outcome = "it was pressed while its anchor's level had yet to last"
)

// consequence is what an outcome means for other rules, and for what is asked. The Tracker applies them when all sensors
// have seen the event.
type consequence string

const (
	compare           consequence = "if another interface has told the opposite since, this one counts from now"
	setToggles        consequence = "of an anchor: its toggles take it over"
	invalidateUnknown consequence = "of a level: what depends on it, and what other interfaces have told by the rule, is forgotten"
	suspectLink       consequence = "of a link that is not known: what is known of the product is forgotten"
	askNow            consequence = "its anchors are forgotten and asked"
	askLater          consequence = "its anchors are asked, 0.2 s after the last question at the earliest"
)

var line = transition.NewLine[state, outcome, []consequence]

// transitions is all that decides what is known after an outcome. docs/architecture.md shows it.
var transitions = transition.Table[state, outcome, []consequence]{
	line(onStarted, nil, stated, nil),
	line(onStated, nil, stated, []consequence{setToggles}),
	line(onRepeated, nil, stated, []consequence{compare, setToggles}),
	line(onUnrecognised, []state{unrecognised}, "", []consequence{invalidateUnknown}),
	line(onUnrecognised, nil, unrecognised, []consequence{invalidateUnknown, suspectLink}),
	line(onUnconfirmed, []state{unrecognised}, "", nil),
	line(onUnconfirmed, nil, unknown, nil),
	line(onForgotten, nil, unknown, nil),

	line(onAnchored, nil, stated, nil),
	line(onPressed, []state{stated, counted}, counted, nil),
	line(onPressed, nil, "", nil),
	line(onPressedLate, nil, ambiguous, []consequence{askLater}),
	line(onHeld, nil, ambiguous, []consequence{askNow}),
	line(onAskedBefore, nil, "", []consequence{askLater}),
	line(onPressedEarly, nil, ambiguous, []consequence{askLater}),
}

// enter follows the table. v is the state of the control that the outcome tells, if it is known then.
func (s *sensor) enter(on outcome, v devices.Tri, at time.Time) {
	t := transitions.After(s.state, on)
	s.state = t.To
	if !t.To.known() {
		v = devices.Unknown
	}
	s.set(v, at)
	for _, c := range t.Then {
		if s.mayHave(c) {
			s.pending.add(c)
			s.changes.pending.add(c)
		}
	}
}

// mayHave reports whether the consequence concerns a rule of this kind.
func (s *sensor) mayHave(c consequence) bool {
	switch c {
	case setToggles:
		return !s.isReading()
	case invalidateUnknown:
		return s.isReading() && s.ReportsChanges
	case suspectLink:
		return s.isReading() && s.ReportsChanges && s.Link
	default:
		return true
	}
}

// consequences are those that are yet to be applied.
type consequences []consequence

func (l *consequences) add(c consequence) {
	if !slices.Contains(*l, c) {
		*l = append(*l, c)
	}
}

// take removes one; it is false if it is not there.
func (l *consequences) take(c consequence) bool {
	i := slices.Index(*l, c)
	if i < 0 {
		return false
	}
	*l = slices.Delete(*l, i, i+1)
	return true
}
