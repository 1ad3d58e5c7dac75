package devices

import (
	"iter"
	"slices"
	"time"
)

// Push is a state of a product that the vendor's own software has pushed. It takes precedence over all
// other sources.
type Push struct {
	Product string
	Serial  string // of the unit; "": the only one
	Unit    string // the key of the unit that it is bound to; "": the only unit that matches product and serial
	Owner   string // name of the software
	State   map[Field]Tri
	Since   map[Field]time.Time // when each flag took its value
}

// assignPushes assigns each push to its unit. A push whose unit is absent or ambiguous has no effect.
func (g *Grouping) assignPushes(pushes []Push) {
	for _, inst := range g.all {
		inst.pushes = nil
	}
	for i := range pushes {
		p := &pushes[i]
		inst := g.byKey[p.Unit]
		if p.Unit == "" {
			if fit := g.products[p.Product].fitting(p.Serial); len(fit) == 1 {
				inst = fit[0]
			}
		}
		if inst != nil {
			inst.pushes = append(inst.pushes, p)
		}
	}
}

// latestFirst returns the pushes in order of precedence for a flag: the latest change first.
func latestFirst(pushes []*Push, f Field) []*Push {
	if len(pushes) < 2 {
		return pushes
	}
	return slices.SortedStableFunc(slices.Values(pushes), func(a, b *Push) int { return b.Since[f].Compare(a.Since[f]) })
}

// fitting returns the units that a push for the product and this serial may mean.
func (x *unitIndex) fitting(serial string) []*instance {
	switch {
	case x == nil:
		return nil
	case serial != "":
		x.index()
		return x.bySerial[serial]
	default:
		return x.all
	}
}

// Unit is one physical product.
type Unit struct {
	Product   string     `json:"product"`
	Key       string     `json:"unit"`
	Serial    string     `json:"serial,omitempty"`
	Listed    bool       `json:"-"` // one of its endpoints is there
	Reported  bool       `json:"-"` // or has gone, and is reported for the removal grace
	Sound     bool       `json:"-"` // or has a sound card
	There     bool       `json:"-"` // an endpoint, its card or a HID device of it is there
	Away      time.Time  `json:"-"` // when it may last have been away although its link_state does not say so; zero: never
	Presences []Presence `json:"-"`
}

// Presence is what one source sees of a unit.
type Presence struct {
	Source   string
	Hardware []string  // the ids of its devices
	Plugged  time.Time // when the last of them was seen to be plugged in; zero: none was
	Listed   bool      // one of its endpoints is there
	// When the first and the last of its endpoints were attached, with those that have gone and are still reported.
	First, Last time.Time
}

// There reports whether the source sees anything of the unit.
func (p Presence) There() bool { return p.Listed || len(p.Hardware) > 0 }

// unit returns what there is of the unit.
func (inst *instance) unit() Unit {
	reported := inst.own > 0
	u := Unit{
		Product: inst.product.ID, Key: inst.key, Serial: inst.serial, Sound: reported, Reported: reported, There: len(inst.readings) > 0,
	}
	for _, e := range inst.endpoints[:inst.own] {
		u.presence(e.Source).endpoint(e)
	}
	for _, h := range inst.hardware {
		u.Sound = u.Sound || h.Sound
		p := u.presence(h.Source)
		p.Hardware = append(p.Hardware, h.ID)
		if h.Plugged.After(p.Plugged) {
			p.Plugged = h.Plugged
		}
	}
	u.Away = inst.away()
	for _, p := range u.Presences {
		u.Listed, u.There = u.Listed || p.Listed, u.There || p.There()
	}
	return u
}

// presence returns the presence of a source, which it adds if there is none.
func (u *Unit) presence(source string) *Presence {
	i := slices.IndexFunc(u.Presences, func(p Presence) bool { return p.Source == source })
	if i < 0 {
		i = len(u.Presences)
		u.Presences = append(u.Presences, Presence{Source: source})
	}
	return &u.Presences[i]
}

func (p *Presence) endpoint(e *Endpoint) {
	if p.First.IsZero() || e.Attached.Before(p.First) {
		p.First = e.Attached
	}
	if e.Attached.After(p.Last) {
		p.Last = e.Attached
	}
	p.Listed = p.Listed || !e.Leaving
}

// Units returns the units that a push for this product and serial may mean: those with endpoints or a sound card, or if there are none,
// those of which only HID devices are there, since such a device may be a part of a unit with sound. A unit whose link_state is false,
// because it is switched off or out of range, is left out.
func (g *Grouping) Units(product, serial string) (units []Unit) {
	var silent []Unit
	for _, x := range []*unitIndex{g.products[product], g.bare[product]} {
		for _, inst := range x.fitting(serial) {
			u := inst.unit()
			switch {
			case !u.There || inst.link().Value == False:
			case u.Sound:
				units = append(units, u)
			default:
				silent = append(silent, u)
			}
		}
	}
	if len(units) == 0 {
		return silent
	}
	return units
}

// SwitchedOff reports whether a unit of this product and serial is there whose link_state is false.
func (g *Grouping) SwitchedOff(product, serial string) bool {
	off := func(inst *instance) bool { return inst.link().Value == False }
	return slices.ContainsFunc(g.products[product].fitting(serial), off) || slices.ContainsFunc(g.bare[product].fitting(serial), off)
}

// All yields all units, but not those whose link_state is false.
func (g *Grouping) All() iter.Seq[Unit] {
	return func(yield func(Unit) bool) {
		for inst := range g.instances() {
			if inst.link().Value != False && !yield(inst.unit()) {
				return
			}
		}
	}
}

// instances yields the units with endpoints, and then those without.
func (g *Grouping) instances() iter.Seq[*instance] {
	return func(yield func(*instance) bool) {
		for _, inst := range g.all {
			if !yield(inst) {
				return
			}
		}
		for _, x := range g.bare {
			for _, inst := range x.all {
				if !yield(inst) {
					return
				}
			}
		}
	}
}

// Products returns the ids of all products of the catalogue.
func (r *Resolver) Products() []string {
	ids := make([]string, len(r.matcher.products))
	for i, p := range r.matcher.products {
		ids[i] = p.ID
	}
	return ids
}

// Explain returns for every audio input the candidates for each of its flags, best first.
func (r *Resolver) Explain(in Inputs) map[Key]map[Field][]Considered {
	out := make(map[Key]map[Field][]Considered)
	g := r.Group(in)
	g.assignPushes(in.Pushes)
	for _, inst := range g.all {
		for _, e := range inst.endpoints {
			if e.Type != AudioInput {
				continue
			}
			fields := make(map[Field][]Considered, len(r.opts.Fields))
			for _, f := range r.opts.Fields {
				fields[f] = inst.ranked(f, e, inst.hardwareBehind(e))
			}
			out[e.Key()] = fields
		}
	}
	return out
}
