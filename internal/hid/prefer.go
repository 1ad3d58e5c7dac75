package hid

import "time"

// prefer is for what was told once more: of two interfaces with the same control, the one that spoke last
// is right, also if it says what it said before the other one spoke.
func (t *Tracker) prefer(at time.Time) {
	if !t.book.repeated {
		return
	}
	t.book.repeated = false
	for _, d := range t.devices {
		for _, s := range d.sensors {
			if s.repeated && t.contradicted(d, s) {
				s.since = at
				t.book.changed = t.book.changed || s.isReading()
				t.book.links = t.book.links || s.Link
			}
			s.repeated = false
		}
	}
}

// contradicted reports whether another interface of the unit has told the opposite since, or at the same moment.
func (t *Tracker) contradicted(d *tracked, s *sensor) bool {
	u := d.unit(s.Rule)
	for _, other := range t.devices {
		for _, o := range other.sensors {
			if o.Place == s.Place && o.value == s.value.Not() && !o.since.Before(s.since) && other.unit(o.Rule) == u {
				return true
			}
		}
	}
	return false
}
