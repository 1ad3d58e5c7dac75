package engine

import (
	"maps"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// incarnation is one presence of a unit, from its arrival until it is surely gone. What is said of a unit is said of its incarnation: a
// unit that left and came back, however soon, may have lost its power.
type incarnation struct {
	product, key, serial string
	presence             presence
	since                time.Time // when it began
	proofs               []proof   // one of each source that has seen it
}

// proof is what a source says of whether a unit has stayed. Sources notice at different times that a unit was away for a moment, so
// that one of them always seems to see it: the unit has stayed only if one and the same source has seen it all the while.
type proof struct {
	devices.Presence
	holds bool      // the source has seen it all the while
	since time.Time // if not: since when it has seen what it sees, or has not seen it
}

// seen returns the proof after the source has looked again.
func (p proof) seen(now devices.Presence, at time.Time) proof {
	if p.Plugged.After(now.Plugged) {
		now.Plugged = p.Plugged // for when it sees that device again
	}
	if p.stayed(now) {
		return proof{now, p.holds, p.since}
	}
	return proof{now, false, at}
}

// stayed reports whether something that the source saw of the unit is still there.
func (p proof) stayed(now devices.Presence) bool {
	if len(p.Hardware) > 0 && len(now.Hardware) > 0 {
		return slices.ContainsFunc(p.Hardware, func(id string) bool { return slices.Contains(now.Hardware, id) })
	}
	// Endpoints that have gone are reported a moment longer. One that takes their place was attached after the last of them.
	return p.Listed && now.Listed && !now.First.After(p.Last)
}

// cameBack reports whether the source says that the unit was plugged in since it saw it last, which no other source can deny. A device that
// belonged to another unit for a moment, because the endpoints that identify both were away, was plugged in before.
func (p proof) cameBack(now devices.Presence) bool {
	return !p.There() && now.There() && now.Plugged.After(p.Plugged)
}

// confirm lets a source that noticed something prove again that the unit has stayed, if another one that has seen it all the while has not
// noticed anything within a time that is long enough for that: what the first one noticed was not that the unit left, or it did so before
// this incarnation.
func (inc *incarnation) confirm(now time.Time, enough time.Duration) {
	if !slices.ContainsFunc(inc.proofs, func(p proof) bool { return p.holds }) {
		return
	}
	for i := range inc.proofs {
		p := &inc.proofs[i]
		p.holds = p.holds || p.There() && now.Sub(p.since) >= enough
	}
}

// look notes what sources see of the unit, and returns what that means. u is the zero Unit if none sees anything.
func (inc *incarnation) look(u devices.Unit, at time.Time) sighting {
	replugged, stayed := false, false
	var proofs []proof
	for _, p := range inc.proofs {
		now := presenceOf(u.Presences, p.Source)
		replugged = replugged || p.cameBack(now)
		p = p.seen(now, at)
		stayed = stayed || p.holds
		proofs = append(proofs, p)
	}
	for _, now := range u.Presences {
		known := slices.ContainsFunc(inc.proofs, func(p proof) bool { return p.Source == now.Source })
		if !known && now.There() { // endpoints of the incarnation before may still be reported
			proofs = append(proofs, proof{now, true, at}) // it proves only from now on
		}
	}
	inc.proofs = proofs
	switch {
	case !u.There && u.Reported:
		return lingers
	case !u.There:
		return absent
	case replugged || !stayed || u.Away.After(inc.since):
		if u.Listed {
			return backListed
		}
		return backSilent
	case u.Listed:
		return seenListed
	}
	return seenSilent
}

// presenceOf returns what a source says of a unit.
func presenceOf(all []devices.Presence, source string) devices.Presence {
	if i := slices.IndexFunc(all, func(p devices.Presence) bool { return p.Source == source }); i >= 0 {
		return all[i]
	}
	return devices.Presence{Source: source}
}

// forgetPast makes an incarnation begin: all sources that see it prove it from now on.
func (inc *incarnation) forgetPast() {
	inc.proofs = slices.DeleteFunc(inc.proofs, func(p proof) bool { return !p.There() })
	for i := range inc.proofs {
		inc.proofs[i].holds = true
	}
}

// departure is when a unit has left. One that is only still reported has left: if it comes back that is another incarnation.
type departure struct {
	Product string    `json:"product"`
	Serial  string    `json:"serial,omitempty"`
	Listed  bool      `json:"listed,omitempty"` // it had endpoints
	At      time.Time `json:"at"`
}

// lateness is for how long the vendor's software may take to notice that a unit has left: what it says of the product in that time is of
// that unit, and not of the next.
const lateness = 10 * time.Second

// trackUnits compares the incarnations with what is there now.
func (s *state) trackUnits() {
	if s.tracked {
		return
	}
	s.tracked = true
	seen := make(map[string]bool, len(s.units))
	for u := range s.grouping().All() {
		seen[u.Key] = true
		s.sight(u)
	}
	for key := range s.units {
		if !seen[key] {
			s.sight(devices.Unit{Key: key})
		}
	}
	s.bindLeases()
}

// sight applies what a unit looks like.
func (s *state) sight(u devices.Unit) {
	inc := s.units[u.Key]
	if inc == nil {
		inc = &incarnation{product: u.Product, key: u.Key, presence: gone}
	}
	// A source that fails sees for StaleAfter what it saw before, and they notice at different times.
	inc.confirm(s.now, s.opts.StaleAfter+lateness)
	t := transitions.After(inc.presence, inc.look(u, s.now))
	switch t.Then {
	case leaves:
		s.depart(inc)
	case another:
		s.depart(inc)
		inc = &incarnation{product: u.Product, key: u.Key, since: s.now, proofs: inc.proofs}
		inc.forgetPast()
		s.units[u.Key] = inc
	case ends:
		s.depart(inc)
		delete(s.units, u.Key)
	}
	if inc.presence != t.To {
		inc.presence = t.To
		s.touch()
	}
	if u.Serial != "" {
		inc.serial = u.Serial
	}
}

// depart ends an incarnation, or notes that it has left although its endpoints are still reported.
func (s *state) depart(inc *incarnation) {
	was := inc.presence
	inc.presence = gone
	if was == gone || was == leaving {
		return
	}
	s.departures = slices.DeleteFunc(s.departures, func(d departure) bool {
		return s.now.Sub(d.At) >= lateness || d.Product == inc.product && d.Serial == inc.serial
	})
	s.departures = append(s.departures, departure{inc.product, inc.serial, was == listed, s.now})
}

// isOfPast reports whether a push may be about a unit that has just left. If the push finds no unit, that is any one, also one that is
// switched off; if it finds one, that is one that had endpoints and left while the found one was there: the software may not have noticed.
func (s *state) isOfPast(p Push, found []devices.Unit) bool {
	if len(found) == 0 && s.grouping().SwitchedOff(p.Product, p.Serial) {
		return true
	}
	return slices.ContainsFunc(s.departures, func(d departure) bool {
		fits := d.Product == p.Product && (p.Serial == "" || p.Serial == d.Serial) && s.now.Sub(d.At) < lateness
		return fits && (len(found) == 0 || d.Listed && s.units[found[0].Key].since.Before(d.At))
	})
}

// pastUnit is an incarnation of which a recording cannot show all by what is there when it begins.
type pastUnit struct {
	Unit     string      `json:"unit"`
	Missed   []string    `json:"missed,omitempty"`    // the sources that have not seen it all the while
	MissedAt []time.Time `json:"missed_at,omitempty"` // since when each of them has seen what it sees
	Since    time.Time   `json:"since,omitzero"`      // if it is new: when it began
}

// isNew reports whether it matters when the incarnation began, or will while it may be taken for one whose sound is still to come.
func (inc *incarnation) isNew(now time.Time) bool { return now.Sub(inc.since) < 2*lateness }

// pastUnits returns, for a recording, the units that are new, or that a source has missed for a while.
func (s *state) pastUnits(clock func(time.Time) time.Time) (list []pastUnit) {
	for _, key := range slices.Sorted(maps.Keys(s.units)) {
		u, inc := pastUnit{Unit: key}, s.units[key]
		if inc.isNew(s.now) {
			u.Since = clock(inc.since)
		}
		for _, p := range inc.proofs {
			if !p.holds {
				u.Missed, u.MissedAt = append(u.Missed, p.Source), append(u.MissedAt, clock(p.since))
			}
		}
		if len(u.Missed) > 0 || !u.Since.IsZero() {
			list = append(list, u)
		}
	}
	return list
}

// missedBy notes, at the beginning of a replay, that a source has not seen the unit all the while, but only since a given time.
func (inc *incarnation) missedBy(name string, since, now time.Time) {
	if inc == nil {
		return
	}
	i := slices.IndexFunc(inc.proofs, func(p proof) bool { return p.Source == name })
	if i < 0 {
		i = len(inc.proofs)
		inc.proofs = append(inc.proofs, proof{Presence: devices.Presence{Source: name, Plugged: now}})
	}
	inc.proofs[i].holds, inc.proofs[i].since = false, since
}

func (s *state) pastDepartures(clock func(time.Time) time.Time) (list []departure) {
	for _, d := range s.departures {
		if s.now.Sub(d.At) < lateness {
			d.At = clock(d.At)
			list = append(list, d)
		}
	}
	return list
}
