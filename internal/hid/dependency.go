package hid

import (
	"slices"
	"time"
)

// isMissingDependency reports whether none of the levels that an answer depends on is read on any interface of its unit,
// as when nobody may read it: then nothing would tell that the answer is over.
func (t *Tracker) isMissingDependency(s *sensor) bool {
	if len(s.DependsOn) == 0 {
		return false
	}
	for _, level := range t.sensors() {
		if s.dependsOn(level) {
			return false
		}
	}
	return true
}

func (s *sensor) dependsOn(level *sensor) bool {
	return slices.Contains(s.DependsOn, level.Place) && s.unit == level.unit
}

// updateDependencies looks which answers have lost all that they depend on, and forgets them.
func (t *Tracker) updateDependencies(at, now time.Time) {
	for d, s := range t.sensors() {
		was := s.missingDependency
		if s.missingDependency = t.isMissingDependency(s); s.missingDependency && !was {
			d.forget(at, now, func(other *sensor) bool { return other == s })
		}
	}
}

// invalidateDependents makes unknown what was answered while nothing contradicted it: a level has come that has heard nothing
// until now, or has heard a state that it does not know. It returns who has to ask again.
func (t *Tracker) invalidateDependents(level *sensor, at, now time.Time) (out []*sensor) {
	for _, s := range t.sensors() {
		if s.dependsOn(level) {
			out = append(out, s)
		}
	}
	t.forgetAll(at, now, func(s *sensor) bool { return s.dependsOn(level) })
	return out
}

// invalidateUnknown is for levels that have heard a state that they do not know: what was told before is over, on
// whichever interface.
func (t *Tracker) invalidateUnknown(at, now time.Time) {
	for _, s := range t.sensors() {
		if !s.pending.take(invalidateUnknown) {
			continue
		}
		t.invalidateDependents(s, at, now)
		t.forgetAll(at, now, func(o *sensor) bool { return o != s && o.isTwinOf(s) })
		// The product may have been away since what is known of it was told.
		if s.pending.take(suspectLink) && !t.links()[s.unit].Known() {
			t.forgetAll(at, now, func(o *sensor) bool { return !o.Link && o.value.Known() && o.unit == s.unit })
		}
	}
}

// forgetAll makes unknown what some sensors of all devices know.
func (t *Tracker) forgetAll(at, now time.Time, which func(*sensor) bool) {
	for _, d := range t.devices {
		d.forget(at, now, which)
	}
}
