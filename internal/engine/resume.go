package engine

import (
	"time"

	"sidetone/internal/devices"
)

// Resumed is to be called after the machine has slept. What devices and the vendor's software said before it woke
// no longer counts. woke is when that was, on the clock that events are stamped with; zero: unknown, so nothing
// that was said until now counts.
func (e *Engine) Resumed(woke time.Time) {
	e.do(func(s *state) {
		r := Resumed{Slept: Span(slept(s.awake, s.now))}
		if !woke.IsZero() {
			r.Awake = Span(max(0, s.now.Sub(woke)))
		}
		s.take(Input{Resumed: &r})
	})
}

// slept returns by how much the wall clock has run ahead of the clock of the process.
func slept(from, to time.Time) time.Duration {
	return max(0, to.Round(0).Sub(from.Round(0))-to.Sub(from))
}

// resumed forgets what was said before the machine slept: meanwhile a button may have been pressed or the device may have lost its power,
// and the software was asleep as well.
func (s *state) resumed(r Resumed) {
	s.awake = s.now
	s.woke = s.now.Add(-time.Duration(r.Awake))
	for _, l := range s.leases {
		if l.heard.Before(s.woke) && !l.until.IsZero() {
			l.until = s.now.Add(l.until.Sub(s.now) - time.Duration(r.Slept)) // during which the clock of the process stood still
		}
	}
	s.subtractSleep(time.Duration(r.Slept))
	s.endLeases(func(l *lease, f devices.Field) bool { return l.said[f].Before(s.woke) }, "the machine has slept since")
	s.dropLeases(s.ranOut, "its lease ran out while the machine slept")
	if s.hid.Resume(s.woke, s.now) {
		s.regroup()
		s.touch()
	}
}
