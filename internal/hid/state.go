package hid

import (
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/transition"
)

// state is what is known of a rule on a device. See transitions for how it changes.
type state string

// The states. The value is known in stated and counted, and in no other.
const (
	unknown      state = "unknown"      // not reported since it was last forgotten
	stated       state = "stated"       // the device has reported it, or starts with it
	counted      state = "counted"      // a toggle: flipped by presses since it was stated
	ambiguous    state = "ambiguous"    // a toggle: it was pressed, but its position cannot be told
	unrecognised state = "unrecognised" // the device reported a value that the rule does not define
)

func (s state) known() bool { return s == stated || s == counted }

// outcome is what an event means to a rule on a device.
type outcome string

const (
	onStarted      outcome = "the device was plugged in, or its headset switched on, and its start state is known"
	onStated       outcome = "the device reported a state"
	onConfirmed    outcome = "asked because it may have changed, the device reported the state that was known"
	onUnrecognised outcome = "the device reported a value that the rule does not define"
	onUnconfirmed  outcome = "a query returned no state, or a receiver reported that its device connected or disconnected"
	onOutdated     outcome = "it is a level that must be repeated, and was not in time"
	onDoubted      outcome = "the device said that the state may have changed, and has not said what it is, within 2 s or when it was asked"
	onForgotten    outcome = "reports were lost, the machine slept, the link or a dependency changed, or it is queried again"

	// For toggles only.
	onAnchored         outcome = "its anchor reported the state"
	onPressed          outcome = "it was pressed"
	onPressedLate      outcome = "it was pressed within 0.2 s of its anchor's report on another channel, or may have been"
	onPressedAgain     outcome = "a press is the last one told on another interface, unless the agent could not read them when they came"
	onPressedUnclearly outcome = "a press may be the last one again: its bounce, or the same on another interface"
	onHeld             outcome = "its button is down, and may have been down before"
	onAskedBefore      outcome = "its anchor answered a query from before the press"
	onAnchorDoubted    outcome = "its anchor said that the state may have changed, and has not said what it is within 2 s"
	onPressedEarly     outcome = "it was pressed during the debounce time of its anchor"
)

// consequence is what an outcome means for other rules and for queries. The Tracker applies them when all sensors have
// seen the event.
type consequence string

const (
	setToggles        consequence = "of an anchor: its toggles take the state"
	doubtToggles      consequence = "of an anchor: its toggles become ambiguous"
	invalidateUnknown consequence = "of a level: its dependents become unknown"
	renewDependents   consequence = "of a level: its dependents become unknown and are queried"
	renewProduct      consequence = "of a link that is up: all states of the product become unknown and are queried"
	suspectAbsence    consequence = "of a link: its product may have been away"
	suspectLink       consequence = "of an unknown link: all states of the product become unknown"
	askNow            consequence = "its anchors become unknown and are queried"
	askLater          consequence = "its anchors are queried, 0.2 s after the last query at the earliest"
)

var line = transition.NewLine[state, outcome, []consequence]

// transitions decides the state after every outcome. docs/states.md shows it.
var transitions = transition.Table[state, outcome, []consequence]{
	line(onStarted, nil, stated, nil),
	line(onStated, nil, stated, []consequence{setToggles}),
	line(onConfirmed, nil, stated, []consequence{setToggles, renewProduct}),
	line(onUnrecognised, []state{unrecognised}, "", []consequence{invalidateUnknown}),
	line(onUnrecognised, nil, unrecognised, []consequence{renewDependents, suspectAbsence, suspectLink}),
	line(onUnconfirmed, []state{unrecognised}, "", nil),
	line(onUnconfirmed, nil, unknown, nil),
	line(onOutdated, nil, unknown, []consequence{suspectAbsence}),
	line(onDoubted, []state{unrecognised}, "", []consequence{doubtToggles, suspectLink}),
	line(onDoubted, nil, unknown, []consequence{doubtToggles, suspectLink}),
	line(onForgotten, nil, unknown, nil),

	line(onAnchored, nil, stated, nil),
	line(onPressed, []state{stated, counted}, counted, nil),
	line(onPressed, nil, "", nil),
	line(onPressedLate, nil, ambiguous, []consequence{askLater}),
	line(onPressedAgain, nil, "", []consequence{askLater}),
	line(onPressedUnclearly, nil, ambiguous, []consequence{askLater}),
	line(onAnchorDoubted, nil, ambiguous, nil),
	line(onHeld, nil, ambiguous, []consequence{askNow}),
	line(onAskedBefore, nil, "", []consequence{askLater}),
	line(onPressedEarly, nil, ambiguous, []consequence{askLater}),
}

// enter applies an outcome by the table. v is the control's new value if the new state is a known one.
func (s *sensor) enter(on outcome, v devices.Tri, at time.Time) {
	t := transitions.After(s.State, on)
	s.State = t.To
	if !t.To.known() {
		v = devices.Unknown
	}
	s.set(v, at)
	for _, c := range t.Then {
		s.entail(c)
	}
}

// entail has the Tracker apply a consequence when all sensors have seen the event.
func (s *sensor) entail(c consequence) {
	if s.appliesTo(c) {
		s.pending.add(c)
		s.changes.pending.add(c)
	}
}

// appliesTo reports whether a consequence applies to a rule of this kind.
func (s *sensor) appliesTo(c consequence) bool {
	switch c {
	case setToggles, doubtToggles:
		return !s.isReading()
	case invalidateUnknown, renewDependents:
		return s.isReading() && s.ReportsChanges
	case suspectLink, suspectAbsence:
		return s.isReading() && s.Link
	case renewProduct:
		return s.isReading() && s.Link && s.Value == devices.True
	default:
		return true
	}
}

// consequences is a set of consequences that are yet to be applied.
type consequences []consequence

func (l *consequences) add(c consequence) {
	if !slices.Contains(*l, c) {
		*l = append(*l, c)
	}
}

// take removes c, and returns whether it was there.
func (l *consequences) take(c consequence) bool {
	i := slices.Index(*l, c)
	if i < 0 {
		return false
	}
	*l = slices.Delete(*l, i, i+1)
	return true
}
