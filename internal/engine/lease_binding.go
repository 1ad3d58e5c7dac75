package engine

import "sidetone/internal/devices"

// matchingUnits returns the units that p may mean.
func (s *state) matchingUnits(p Push) []devices.Unit {
	if p.Unit == "" {
		return s.grouping().Units(p.Product, p.Serial)
	}
	if u, there := s.grouping().Unit(p.Product, p.Unit); there {
		return []devices.Unit{u}
	}
	return nil
}

// bind gives the lease to the one unit that it can mean. If there is none the lease waits. If there are several, any of them may have been
// meant, even after the others have left.
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

// observe notes the state of the lease's unit. A HID device that has been away no longer proves that the unit stayed: that its endpoints
// were away, too, may be learnt only after the HID device is back.
func (l *lease) observe(u devices.Unit) {
	l.hidLeft = l.hidLeft || l.hid && !u.HID
	l.hid, l.silent, l.leaving = u.HID && !l.hidLeft, u.HIDOnly, u.Leaving
	l.hidAbsent = l.hidLeft && !u.HID
	if !u.HIDOnly {
		l.lastAttached = u.Last
	}
}

// stillMeans reports whether u has been there without a break since the lease last saw it, as a HID device or an endpoint proves that has
// stayed. A unit that left and came back, however soon, may have lost its power.
func (l *lease) stillMeans(u devices.Unit) bool {
	return l.hid && u.HID || l.leaving == u.Leaving && !u.HIDOnly && !u.First.After(l.lastAttached)
}

// bindLeases ends the leases of units that have left, and gives waiting ones to units that have come.
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
			l.leaving, l.hid = true, false // the lease ends with the unit, and not before
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
	s.dropContradicted() // leases that waited may now contradict each other
}
