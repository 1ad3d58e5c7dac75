package hid

import "time"

// preferLatest is for what was told once more: of two interfaces with the same control, the one that spoke last
// is right, also if it says what it said before the other one spoke.
func (t *Tracker) preferLatest(at time.Time) {
	for _, s := range t.sensors() {
		if s.pending.take(compare) && t.isContradicted(s) {
			s.since = at
			s.noteChange()
		}
	}
}

// isContradicted reports whether another interface of the unit has told the opposite since, or at the same moment.
func (t *Tracker) isContradicted(s *sensor) bool {
	for _, o := range t.sensors() {
		if o.isTwinOf(s) && o.value == s.value.Not() && !o.since.Before(s.since) {
			return true
		}
	}
	return false
}
