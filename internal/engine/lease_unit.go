package engine

import "sidetone/internal/devices"

// matchingUnits are the units that p may speak of.
func (s *state) matchingUnits(p Push) []devices.Unit {
	if p.Unit == "" {
		return s.grouping().Units(p.Product, p.Serial)
	}
	if u, there := s.grouping().Unit(p.Product, p.Unit); there {
		return []devices.Unit{u}
	}
	return nil
}

// bind gives the lease to the one unit that it can mean. Where there is none it waits; of several, any may have been meant, also
// when the others are gone again.
func (l *lease) bind(found []devices.Unit) {
	l.Unit, l.unitState, l.candidates = "", unitState{}, 0
	switch {
	case len(found) == 1:
		l.Unit = found[0].Key
		l.observe(found[0])
	case len(found) > 1 && !found[0].HIDOnly:
		l.candidates = len(found)
	}
}

// observe takes in how the lease's unit is now. A HID device that has been away proves nothing any more: that the sound has
// been away as well may be told later, when the HID device is back.
func (l *lease) observe(u devices.Unit) {
	l.hidLeft = l.hidLeft || l.hid && !u.HID
	l.hid, l.silent, l.leaving = u.HID && !l.hidLeft, u.HIDOnly, u.Leaving
	l.hidAbsent = l.hidLeft && !u.HID
	if !u.HIDOnly {
		l.lastAttached = u.Last
	}
}

// stillMeans reports whether u has been there without a break since the lease last saw it: a HID device, or an endpoint that was
// there before. One that left and has come back, however soon, may have lost its power.
func (l *lease) stillMeans(u devices.Unit) bool {
	return l.hid && u.HID || l.leaving == u.Leaving && !u.HIDOnly && !u.First.After(l.lastAttached)
}

// bindLeases ends the leases of units that have left, and gives those that wait to units that have come.
func (s *state) bindLeases() {
	if len(s.leases) == 0 || s.leasesBound {
		return
	}
	s.leasesBound = true
	gone := make(map[*lease]bool)
	for _, l := range s.leases {
		switch u, there := s.grouping().Unit(l.Product, l.Unit); {
		case len(l.State) == 0, l.candidates > 0:
		case l.Unit == "":
			if l.bind(s.grouping().Units(l.Product, l.Serial)); l.Unit != "" || l.candidates > 0 {
				s.dirty = true
				s.touch()
			}
		case there && u.Leaving && !l.leaving && (!l.hid || !u.HID):
			l.leaving, l.hid = true, false // what was said of it goes with it, and not a moment before
		case !there || !l.stillMeans(u) || l.hidAbsent && u.HID && s.plugged:
			gone[l] = true
		default:
			if l.silent != u.HIDOnly {
				s.touch()
			}
			l.observe(u)
		}
	}
	s.endLeases(func(l *lease, _ devices.Field) bool { return gone[l] }, "what it was said of has left")
	s.dropContradicted() // those that waited may have met
}
