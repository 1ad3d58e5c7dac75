package hid

import (
	"maps"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/stable"
)

// links returns the link_state of each unit, as devices.Resolver derives it from the readings: the first
// known rule decides.
func (t *Tracker) links() map[unit]devices.Tri {
	latest := make(map[unit]map[string]sensorState) // by the path of the rule
	for _, s := range t.sensors() {
		if !s.Link || !s.isReading() {
			continue
		}
		if latest[s.unit] == nil {
			latest[s.unit] = make(map[string]sensorState)
		}
		if other := latest[s.unit][s.Path]; !other.Value.Known() || s.Value.Known() && s.Since.After(other.Since) {
			latest[s.unit][s.Path] = s.sensorState
		}
	}
	out := make(map[unit]devices.Tri)
	for u, states := range latest {
		for _, l := range t.rules.links[u.product] {
			if out[u] = linkState(l, states); out[u].Known() {
				break
			}
		}
	}
	return out
}

// linkState returns the state of a link according to one of its sources, from the latest states.
func linkState(l devices.Source, latest map[string]sensorState) devices.Tri {
	if l.Derive == nil {
		return latest[l.Path].Value
	}
	var terms []devices.Tri
	for _, term := range l.Derive.Terms {
		terms = append(terms, linkState(term, latest))
	}
	return l.Derive.Of(terms)
}

// updateLinks handles links that have come up, gone down, or become known or unknown.
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

// linkChanged handles a change of a link's state. States from before the link went down, or may have gone
// down unnoticed, do not hold for the product that comes back.
func (t *Tracker) linkChanged(u unit, was, is devices.Tri, at, now time.Time) {
	mine := func(s *sensor) bool { return !s.Link && s.unit == u }
	for _, d := range t.devices {
		switch {
		case is == devices.False:
			d.forget(at, now, mine)
		case is == devices.Unknown: // queries under way may still be answered
			d.forget(at, now, func(s *sensor) bool { return mine(s) && (s.Value.Known() || !s.Due.IsZero()) })
		case was == devices.False:
			// A toggle pressed in the meantime was switched on before its link was known to be up.
			started := slices.DeleteFunc(slices.Clone(d.sensors), func(s *sensor) bool { return !mine(s) || s.PressedSinceReset })
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
