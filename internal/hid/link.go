package hid

import (
	"maps"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// links returns the link_state of each unit, as devices.Resolver derives it from the readings: the first
// known rule decides.
func (t *Tracker) links() map[unit]devices.Tri {
	states := make(map[unit]map[string]*sensorState) // by the path of the rule
	for _, s := range t.sensors() {
		if !s.Link || !s.isReading() {
			continue
		}
		if states[s.unit] == nil {
			states[s.unit] = make(map[string]*sensorState)
		}
		states[s.unit][s.Path] = s.sensorState
	}
	out := make(map[unit]devices.Tri)
	for u, states := range states {
		for _, l := range t.rules.links[u.product] {
			out[u] = linkState(l, states)
			if out[u].Known() {
				break
			}
		}
	}
	return out
}

// linkState returns the state of a link according to one of its sources, from the states states.
func linkState(l devices.Source, states map[string]*sensorState) devices.Tri {
	if l.Derive == nil {
		if s := states[l.Path]; s != nil {
			return s.Value
		}
		return devices.Unknown
	}
	var terms []devices.Tri
	for _, term := range l.Derive.Terms {
		terms = append(terms, linkState(term, states))
	}
	return l.Derive.Of(terms)
}

// updateLinks handles links that have come up, gone down, or become known or unknown.
func (t *Tracker) updateLinks(at, now time.Time) {
	if !t.changes.links {
		return
	}
	t.changes.links = false
	before := t.changes.linkStates
	t.setLinks(now)
	units := maps.Clone(t.changes.linkStates)
	maps.Copy(units, before)
	for _, u := range slices.SortedStableFunc(maps.Keys(units), unit.compare) {
		if before[u] != t.changes.linkStates[u] {
			t.linkChanged(u, before[u], t.changes.linkStates[u], at, now)
		}
	}
	t.noteUp()
}

// setLinks determines the states of the links. What is not polled while they are down is polled again otherwise.
func (t *Tracker) setLinks(now time.Time) {
	t.changes.linkStates = t.links()
	for _, s := range t.sensors() {
		s.pollAgain(now)
	}
}

// noteUp notes which links are up.
func (t *Tracker) noteUp() {
	for u, state := range t.changes.linkStates {
		if state == devices.True {
			t.wasUp[u] = true
		}
	}
}

// linkChanged handles a change of a link's state. States from before the link went down, or may have gone down unnoticed, do not hold for
// the product that comes back. It was switched on only if its link had been up before: a dongle that was plugged in, or has slept, says
// that its headset is not there until it has found it.
func (t *Tracker) linkChanged(u unit, was, is devices.Tri, at, now time.Time) {
	mine := func(s *sensor) bool { return !s.Link && s.unit == u }
	t.ignoreLate(mine)
	switch {
	case is == devices.False:
		t.forgetAll(at, now, mine)
	case is == devices.Unknown: // queries under way may still be answered
		t.forgetAll(at, now, func(s *sensor) bool { return mine(s) && (s.Value.Known() || !s.Due.IsZero()) })
	case was == devices.False:
		var started []*sensor
		for _, s := range t.sensors() {
			// A toggle pressed in the meantime was switched on before its link was known to be up.
			if mine(s) && !s.PressedSinceReset && t.wasUp[u] {
				started = append(started, s)
			}
		}
		t.forgetAll(at, now, mine)
		for _, s := range started {
			s.linkUp(at)
		}
	}
	if is == devices.True {
		for _, d := range t.devices {
			d.ask(AtLinkUp, now, mine)
			d.ask(AtAttach, now, func(s *sensor) bool { return mine(s) && s.whileUp })
		}
	}
}

// noteAbsence notes that the products of some link rules may have been away unnoticed, at that time at the latest: what was said of them by
// others than their devices may be over.
func (t *Tracker) noteAbsence(at time.Time, which func(*sensor) bool) {
	for _, s := range t.sensors() {
		if s.Link && s.isReading() && which(s) {
			t.away[s.unit] = at
			t.changes.readings = true
		}
	}
}
