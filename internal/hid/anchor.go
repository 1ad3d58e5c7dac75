package hid

import (
	"time"

	"sidetone/internal/devices"
)

// applyAnchors sets toggles to what their anchors have told, and asks the anchors of those that need it.
func (t *Tracker) applyAnchors(at, now time.Time) {
	for d, s := range t.sensors() {
		if s.pending.draw(tellToggles) && s.value.Known() {
			t.applyAnchor(d, s, at)
		}
	}
	for d, s := range t.sensors() {
		if s.pending.draw(askNow) {
			t.askAnchors(d.unit(s.Rule), s, AtResume, at, now)
		}
		if s.pending.draw(askLater) {
			t.askAnchorsLater(d.unit(s.Rule), s, now)
		}
	}
}

// applyAnchor sets the toggles of an anchor that an interface has told. What comes on another way than the
// presses may overtake them: an answer says nothing if there was one since the question, and one that
// comes soon after it may be older than it.
func (t *Tracker) applyAnchor(teller *tracked, anchor *sensor, at time.Time) {
	u := teller.unit(anchor.Rule)
	for _, d := range t.devices {
		apart := d != teller || anchor.exchange != nil && !anchor.exchange.answeredByReport()
		for _, s := range d.sensors {
			switch {
			case s.Place != anchor.AnchorOf || d.unit(s.Rule) != u:
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
}

// askAnchorsLater asks for the state of a toggle that may have been pressed before an answer or after it.
func (t *Tracker) askAnchorsLater(u unit, toggle *sensor, now time.Time) {
	for _, d := range t.sorted() {
		for _, s := range d.sensors {
			if s.AnchorOf == toggle.Place && d.unit(s.Rule) == u && s.asksAt(AtResume) {
				s.askSoon(now)
			}
		}
		d.askAgain(now)
	}
}

// askAnchors asks for the state that a toggle starts from, whichever interface of its unit tells.
// What has been asked before may be answered with what was true before.
func (t *Tracker) askAnchors(u unit, toggle *sensor, m Moment, at, now time.Time) {
	if toggle.Anchor == nil {
		return
	}
	for _, d := range t.sorted() {
		its := func(s *sensor) bool { return s.AnchorOf == toggle.Place && d.unit(s.Rule) == u }
		d.forget(at, now, its)
		d.ask(m, now, its)
	}
}

// wasPressed reports whether a button of the unit has been pressed that the rule reads, since what was known of it was forgotten.
func (t *Tracker) wasPressed(u unit, rule string) bool {
	for _, d := range t.devices {
		for _, s := range d.sensors {
			if s.Place == rule && s.pressedSinceReset && d.unit(s.Rule) == u {
				return true
			}
		}
	}
	return false
}
