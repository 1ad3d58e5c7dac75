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
		r := Resumed{Slept: Span(s.takeSleep())}
		if !woke.IsZero() {
			r.Awake = Span(max(0, s.now.Sub(woke)))
		}
		s.take(Input{Resumed: &r})
	})
}

// sleep is how long the clock of the process has stood still so far. The clock on the wall does not tell: it may have been set meanwhile.
func (s *state) sleep() time.Duration {
	if s.opts.Elapsed == nil {
		return 0
	}
	return s.opts.Elapsed() - s.now.Sub(s.started)
}

// takeSleep returns how long the clock of the process has stood still since the last call.
func (s *state) takeSleep() time.Duration {
	before := s.slept
	s.slept = s.sleep()
	return max(0, s.slept-before)
}

// resumed forgets what was said before the machine slept: meanwhile a button may have been pressed or the device may have lost its power,
// and the software was asleep as well.
func (s *state) resumed(r Resumed) {
	if woke := s.now.Add(-time.Duration(r.Awake)); woke.After(s.woke) { // the news of an earlier sleep may come later
		s.woke = woke
	}
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
