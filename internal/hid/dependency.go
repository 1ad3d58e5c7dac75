package hid

import (
	"slices"
	"time"
)

// isMissingDependency reports whether none of the levels that an answer depends on is read on any interface of its unit,
// as when nobody may read it: then nothing would tell that the answer is over.
func (t *Tracker) isMissingDependency(d *tracked, s *sensor) bool {
	if len(s.DependsOn) == 0 {
		return false
	}
	u := d.unit(s.Rule)
	for other, level := range t.sensors() {
		if slices.Contains(s.DependsOn, level.Place) && other.unit(level.Rule) == u {
			return false
		}
	}
	return true
}

// updateDependencies looks which answers have lost all that they depend on, and forgets them.
func (t *Tracker) updateDependencies(at, now time.Time) {
	for d, s := range t.sensors() {
		was := s.missingDependency
		if s.missingDependency = t.isMissingDependency(d, s); s.missingDependency && !was {
			d.forget(at, now, func(other *sensor) bool { return other == s })
		}
	}
}

// invalidateDependents makes unknown what was answered while nothing contradicted it: a level has come that has heard nothing
// until now, or has heard a state that it does not know. It returns who has to ask again.
func (t *Tracker) invalidateDependents(u unit, level *sensor, at, now time.Time) (out []*sensor) {
	for _, d := range t.sorted() {
		depends := func(s *sensor) bool { return slices.Contains(s.DependsOn, level.Place) && d.unit(s.Rule) == u }
		for _, s := range d.sensors {
			if depends(s) {
				out = append(out, s)
			}
		}
		d.forget(at, now, depends)
	}
	return out
}

// invalidateUnknown is for levels that have heard a state that they do not know: what was told before is over, on
// whichever interface.
func (t *Tracker) invalidateUnknown(at, now time.Time) {
	for d, s := range t.sensors() {
		if !s.pending.draw(invalidateUnknown) {
			continue
		}
		u := d.unit(s.Rule)
		t.invalidateDependents(u, s, at, now)
		t.forgetAll(at, now, func(other *tracked, o *sensor) bool { return o != s && o.Place == s.Place && other.unit(o.Rule) == u })
		// The product may have been away since what is known of it was told.
		if s.pending.draw(suspectLink) && !t.links()[u].Known() {
			t.forgetAll(at, now, func(other *tracked, o *sensor) bool { return !o.Link && o.value.Known() && other.unit(o.Rule) == u })
		}
	}
}

// forgetAll makes unknown what some sensors of all devices know.
func (t *Tracker) forgetAll(at, now time.Time, which func(*tracked, *sensor) bool) {
	for _, d := range t.sorted() {
		d.forget(at, now, func(s *sensor) bool { return which(d, s) })
	}
}
