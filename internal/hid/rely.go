package hid

import (
	"slices"
	"time"
)

// alone reports whether none of the levels that an answer relies on is read on any interface of its unit,
// as when nobody may read it: then nothing would tell that the answer is over.
func (t *Tracker) alone(d *tracked, s *sensor) bool {
	if len(s.DependsOn) == 0 {
		return false
	}
	u := d.unit(s.Rule)
	for _, other := range t.devices {
		level := func(l *sensor) bool { return slices.Contains(s.DependsOn, l.Place) && other.unit(l.Rule) == u }
		if slices.ContainsFunc(other.sensors, level) {
			return false
		}
	}
	return true
}

// rely looks which answers stand alone now, and forgets them.
func (t *Tracker) rely(at, now time.Time) {
	for _, d := range t.sorted() {
		for _, s := range d.sensors {
			was := s.alone
			if s.alone = t.alone(d, s); s.alone && !was {
				d.forget(at, now, func(other *sensor) bool { return other == s })
			}
		}
	}
}

// outdate makes unknown what was answered in reliance on a level that has heard nothing until now, or has
// heard a state that it does not know. It returns who has to ask again.
func (t *Tracker) outdate(u unit, level *sensor, at, now time.Time) (out []*sensor) {
	for _, d := range t.sorted() {
		relies := func(s *sensor) bool { return slices.Contains(s.DependsOn, level.Place) && d.unit(s.Rule) == u }
		for _, s := range d.sensors {
			if relies(s) {
				out = append(out, s)
			}
		}
		d.forget(at, now, relies)
	}
	return out
}

// estrange is for a link that was not known and now tells something else than up or down: the product may have been
// away since what is known of it was told.
func (t *Tracker) estrange(u unit, link *sensor, at, now time.Time) {
	if !link.Link || link.strange {
		return
	}
	link.strange = true
	if t.links()[u].Known() {
		return
	}
	for _, d := range t.sorted() {
		d.forget(at, now, func(s *sensor) bool { return !s.Link && s.value.Known() && d.unit(s.Rule) == u })
	}
}

// mistrust is for levels that have heard a state that they do not know: what was told before is over, on whichever
// interface.
func (t *Tracker) mistrust(at, now time.Time) {
	if !t.book.baffled {
		return
	}
	t.book.baffled = false
	for _, d := range t.sorted() {
		for _, s := range d.sensors {
			if s.baffled {
				s.baffled = false
				t.outdate(d.unit(s.Rule), s, at, now)
				t.overrule(d.unit(s.Rule), s, at, now)
				t.estrange(d.unit(s.Rule), s, at, now)
			}
		}
	}
}

// overrule makes unknown what the other interfaces of a unit have told by the same rule.
func (t *Tracker) overrule(u unit, told *sensor, at, now time.Time) {
	for _, d := range t.sorted() {
		d.forget(at, now, func(s *sensor) bool { return s != told && s.Place == told.Place && d.unit(s.Rule) == u })
	}
}
