package hid

import (
	"slices"
	"time"
)

// preferLatest is for what was told once more: of two interfaces with the same control, the one that spoke last
// is right, also if it says what it said before the other one spoke.
func (t *Tracker) preferLatest(at time.Time) {
	for _, d := range t.devices {
		for _, s := range d.sensors {
			if s.pending.draw(compare) && t.isContradicted(d, s) {
				s.since = at
				s.noteChange()
			}
		}
	}
}

// isContradicted reports whether another interface of the unit has told the opposite since, or at the same moment.
func (t *Tracker) isContradicted(d *tracked, s *sensor) bool {
	u := d.unit(s.Rule)
	for _, other := range t.devices {
		opposite := func(o *sensor) bool {
			return o.Place == s.Place && o.value == s.value.Not() && !o.since.Before(s.since) && other.unit(o.Rule) == u
		}
		if slices.ContainsFunc(other.sensors, opposite) {
			return true
		}
	}
	return false
}
