package hid

import (
	"slices"
	"time"
)

// isMissingDependency reports whether none of the levels that an answer depends on is read and understood on any interface of its unit,
// for example for lack of permission: then nothing would tell when the answer is outdated.
func (t *Tracker) isMissingDependency(s *sensor) bool {
	return len(s.DependsOn) > 0 && !t.anySensorIs(func(level *sensor) bool { return s.dependsOn(level) && level.isHeard() })
}

func (s *sensor) dependsOn(level *sensor) bool {
	return slices.Contains(s.DependsOn, level.Path) && s.unit == level.unit
}

// isHeard reports whether the device's reports of a level are understood. Those of HID++ are not while its feature's index is not known.
func (s *sensor) isHeard() bool {
	return s.pp == nil || s.pp.Index != 0 || s.pp.LastIndex != 0 && s.exchange.waiting()
}

// updateDependencies forgets the answers that have lost all of their dependencies, and asks for those that have one again.
func (t *Tracker) updateDependencies(at, now time.Time) {
	for d, s := range t.sensors() {
		was := s.missingDependency
		s.missingDependency = t.isMissingDependency(s)
		if s.missingDependency && !was {
			d.forget(at, now, func(other *sensor) bool { return other == s })
		} else if was && !s.missingDependency {
			d.ask(AtAttach, now, func(other *sensor) bool { return other == s })
		}
	}
}

// invalidateDependents makes the answers that depend on a level unknown, because the level is new or has reported an
// undefined value. It returns the sensors that have to query again.
func (t *Tracker) invalidateDependents(level *sensor, at, now time.Time) (out []*sensor) {
	for _, s := range t.sensors() {
		if s.dependsOn(level) {
			out = append(out, s)
		}
	}
	t.forgetAll(at, now, func(s *sensor) bool { return s.dependsOn(level) })
	t.noteAbsence(at, func(s *sensor) bool { return s.dependsOn(level) })
	return out
}

// invalidateUnknown handles levels that have reported an undefined value: earlier states are outdated. They are queried again unless the
// level was undefined before: such a report may be in answer to just that.
func (t *Tracker) invalidateUnknown(at, now time.Time) {
	for _, s := range t.sensors() {
		again := s.pending.take(renewDependents)
		if !again && !s.pending.take(invalidateUnknown) {
			continue
		}
		if outdated := t.invalidateDependents(s, at, now); again {
			t.askSoon(now, func(o *sensor) bool { return slices.Contains(outdated, o) })
		}
	}
}

// renewProducts handles links that are up, and were when their device said that they may have changed: the product may have been away in
// between.
func (t *Tracker) renewProducts(at, now time.Time) {
	for _, s := range t.sensors() {
		if !s.pending.take(renewProduct) {
			continue
		}
		mine := func(o *sensor) bool { return !o.Link && o.unit == s.unit }
		t.forgetAll(at, now, mine)
		for _, d := range t.devices {
			d.ask(AtLinkUp, now, mine)
		}
	}
}

// suspectLinks handles links that may have changed and are unknown: the product may have been away since its states were reported, also if
// its link was not known before.
func (t *Tracker) suspectLinks(at, now time.Time) {
	for _, s := range t.sensors() {
		if s.pending.take(suspectLink) && !t.links()[s.unit].Known() {
			t.forgetAll(at, now, func(o *sensor) bool { return !o.Link && o.Value.Known() && o.unit == s.unit })
		}
	}
}

// forgetAll makes the states of some sensors of all devices unknown.
func (t *Tracker) forgetAll(at, now time.Time, which func(*sensor) bool) {
	for _, d := range t.devices {
		d.forget(at, now, which)
	}
}
