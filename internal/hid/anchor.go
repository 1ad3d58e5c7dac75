package hid

import (
	"time"

	"sidetone/internal/devices"
)

// applyAnchors sets toggles to what their anchors have told, and asks the anchors of those that need it.
func (t *Tracker) applyAnchors(at, now time.Time) {
	for d, s := range t.sensors() {
		if s.pending.take(setToggles) && s.value.Known() {
			t.applyAnchor(d, s, at)
		}
	}
	for _, s := range t.sensors() {
		if s.pending.take(askNow) {
			t.askAnchors(s, AtResume, at, now)
		}
		if s.pending.take(askLater) { // it may have been pressed before an answer or after it
			t.askSoon(now, func(other *sensor) bool { return other.isAnchorOf(s) })
		}
	}
}

// applyAnchor sets the toggles of an anchor that an interface has told. What comes on another way than the
// presses may overtake them: an answer says nothing if there was one since the question, and one that
// comes soon after it may be older than it.
func (t *Tracker) applyAnchor(source *trackedDevice, anchor *sensor, at time.Time) {
	for d, s := range t.sensors() {
		apart := d != source || anchor.exchange != nil && !anchor.exchange.answeredByReport()
		switch {
		case !anchor.isAnchorOf(s):
		case apart && anchor.exchange != nil && !s.pressed.Before(anchor.lastAsked):
			s.enter(onAskedBefore, s.value, at)
		case anchor.Debounce > 0 && s.pressed.After(anchor.statedAt.Add(-anchor.Debounce)): // while the level had yet to last
			s.enter(onPressedEarly, devices.Unknown, at)
		default:
			s.enter(onAnchored, anchor.value, at)
			s.statedAt = anchor.statedAt
			s.answered = time.Time{}
			if apart {
				s.answered = at
			}
		}
	}
}

// isAnchorOf reports whether the sensor tells the state that a toggle of the same unit starts from.
func (s *sensor) isAnchorOf(toggle *sensor) bool {
	return s.AnchorOf == toggle.Place && s.unit == toggle.unit
}

// askAnchors asks for the state that a toggle starts from, whichever interface of its unit tells.
// What has been asked before may be answered with what was true before.
func (t *Tracker) askAnchors(toggle *sensor, m Moment, at, now time.Time) {
	if toggle.Anchor == nil {
		return
	}
	its := func(s *sensor) bool { return s.isAnchorOf(toggle) }
	for _, d := range t.devices {
		d.forget(at, now, its)
		d.ask(m, now, its)
	}
}

// wasPressed reports whether a button that the rule reads was pressed on any interface of the unit, since what was known of it
// was forgotten.
func (t *Tracker) wasPressed(toggle *sensor) bool {
	for _, s := range t.sensors() {
		if s.isTwinOf(toggle) && s.pressedSinceReset {
			return true
		}
	}
	return false
}

// isTwinOf reports whether both apply one rule to interfaces of one unit.
func (s *sensor) isTwinOf(o *sensor) bool { return s.Place == o.Place && s.unit == o.unit }
