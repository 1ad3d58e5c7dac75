package hid

import (
	"maps"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/stable"
)

// links are the states of the links that rules watch, as devices.Resolver makes them of the readings:
// the first rule that knows decides.
func (t *Tracker) links() map[unit]devices.Tri {
	heard := make(map[unit]map[string]*sensor) // by the place of the rule: which has heard of it last
	for _, s := range t.sensors() {
		if !s.Link || !s.isReading() {
			continue
		}
		if heard[s.unit] == nil {
			heard[s.unit] = make(map[string]*sensor)
		}
		if other := heard[s.unit][s.Place]; other == nil || !other.value.Known() || s.value.Known() && s.since.After(other.since) {
			heard[s.unit][s.Place] = s
		}
	}
	out := make(map[unit]devices.Tri)
	for u, sensors := range heard {
		for _, l := range t.rules.links[u.product] {
			if out[u] = linkState(l, sensors); out[u].Known() {
				break
			}
		}
	}
	return out
}

// linkState is the state of a link by one of its sources, of which the sensors have heard last.
func linkState(l devices.Source, heard map[string]*sensor) devices.Tri {
	if l.Derive == nil {
		if s := heard[l.Place]; s != nil {
			return s.value
		}
		return devices.Unknown
	}
	var terms []devices.Tri
	for _, term := range l.Derive.Terms {
		terms = append(terms, linkState(term, heard))
	}
	return l.Derive.Of(terms)
}

// updateLinks looks whether links have come up, gone down, or become known or unknown.
func (t *Tracker) updateLinks(at, now time.Time) {
	if !t.changes.links {
		return
	}
	t.changes.links = false
	before := t.linkStates
	t.linkStates = t.links()
	units := maps.Clone(t.linkStates)
	maps.Copy(units, before)
	for _, u := range stable.Sort(slices.Collect(maps.Keys(units)), unit.compare) {
		if before[u] != t.linkStates[u] {
			t.linkChanged(u, before[u], t.linkStates[u], at, now)
		}
	}
}

// linkChanged is for a link whose state is another one. What was known of a product whose link is down,
// or may have been down unseen, says nothing of the product that comes back.
func (t *Tracker) linkChanged(u unit, was, is devices.Tri, at, now time.Time) {
	mine := func(s *sensor) bool { return !s.Link && s.unit == u }
	for _, d := range t.devices {
		switch {
		case is == devices.False:
			d.forget(at, now, mine)
		case is == devices.Unknown: // what is being asked may still be answered
			d.forget(at, now, func(s *sensor) bool { return mine(s) && (s.value.Known() || !s.due.IsZero()) })
		case was == devices.False:
			// One that was pressed meanwhile has been switched on for longer than its link is known to be up.
			started := slices.DeleteFunc(slices.Clone(d.sensors), func(s *sensor) bool { return !mine(s) || s.pressedSinceReset })
			d.forget(at, now, mine)
			for _, s := range started {
				s.linkUp(at)
			}
		}
		if is == devices.True {
			d.ask(AtLinkUp, now, mine)
		}
	}
}
