package hid

import "time"

// preferLatest handles repeated states: of two interfaces with the same control, the one that reported last is right,
// even if it only repeats its state.
func (t *Tracker) preferLatest(at time.Time) {
	for _, s := range t.sensors() {
		if s.pending.take(compare) && t.isContradicted(s) {
			s.Since = at
			s.noteChange()
		}
	}
}

// isContradicted reports whether another interface of the unit has reported the opposite since, or at the same moment.
func (t *Tracker) isContradicted(s *sensor) bool {
	return t.anySensorIs(func(o *sensor) bool { return o.isTwinOf(s) && o.Value == s.Value.Not() && !o.Since.Before(s.Since) })
}
