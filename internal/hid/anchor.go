package hid

import (
	"time"

	"sidetone/internal/devices"
)

// applyAnchors sets toggles to the states of their anchors, and queries the anchors of those that need it.
func (t *Tracker) applyAnchors(at, now time.Time) {
	for _, s := range t.sensors() {
		if s.pending.take(setToggles) && s.Value.Known() {
			t.applyAnchor(s, at)
		}
		if s.pending.take(doubtToggles) {
			for _, toggle := range t.sensors() {
				if s.isAnchorOf(toggle) {
					toggle.enter(onAnchorDoubted, devices.Unknown, at)
				}
			}
		}
	}
	for _, s := range t.sensors() {
		if s.pending.take(askNow) {
			t.askAnchors(s, AtResume, at, now)
		}
		if s.pending.take(askLater) { // unclear whether the press came before or after the answer
			t.askSoon(now, func(other *sensor) bool { return other.isAnchorOf(s) })
		}
	}
}

// applyAnchor sets the toggles of an anchor. What arrives on another channel than the presses may overtake
// them: an answer is void after a press since the query, and a press soon after it may be older than it.
func (t *Tracker) applyAnchor(anchor *sensor, at time.Time) {
	for _, s := range t.sensors() {
		switch {
		case !anchor.isAnchorOf(s):
		case s.PressedOn != anchor.StatedOn && anchor.exchange != nil && !s.Pressed.Before(anchor.StatedAt):
			s.enter(onAskedBefore, s.Value, at)
		case anchor.Debounce > 0 && s.Pressed.After(anchor.StatedAt.Add(-anchor.Debounce)): // during the debounce time
			s.enter(onPressedEarly, devices.Unknown, at)
		default:
			s.enter(onAnchored, anchor.Value, at)
			s.StatedAt, s.StatedOn = anchor.StatedAt, anchor.StatedOn
			s.Answered, s.AnsweredOn = at, anchor.StatedOn
		}
	}
}

// isAnchorOf reports whether the sensor is an anchor of a toggle of the same unit.
func (s *sensor) isAnchorOf(toggle *sensor) bool {
	return s.AnchorOf == toggle.Path && s.unit == toggle.unit
}

// askAnchors queries the anchors of a toggle, on all interfaces of its unit. Queries under way are
// cancelled, because their answers may be outdated.
func (t *Tracker) askAnchors(toggle *sensor, m Moment, at, now time.Time) {
	if toggle.Anchor == nil {
		return
	}
	anchors := func(s *sensor) bool { return s.isAnchorOf(toggle) }
	for _, d := range t.devices {
		d.forget(at, now, anchors)
		d.ask(m, now, anchors)
	}
}
