package devices

import (
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

// Unit is one physical product that is present.
type Unit struct {
	Product string    `json:"product"`
	Key     string    `json:"unit"`
	Serial  string    `json:"serial,omitempty"`
	First   time.Time `json:"-"` // when the first of its endpoints was attached
	Last    time.Time `json:"-"` // when the last of them was
	HID     bool      `json:"-"` // one of its HID devices is present
	HIDOnly bool      `json:"-"` // only HID devices are present
	Leaving bool      `json:"-"` // its endpoints are gone, but still reported for the removal grace
}

func (inst *instance) unit() Unit {
	return Unit{
		Product: inst.product.ID, Key: inst.key, Serial: inst.serial, First: inst.attached, Last: inst.newest,
		HID: len(inst.readings) > 0, HIDOnly: inst.own == 0, Leaving: inst.own > 0 && !inst.staying,
	}
}

// Units returns the units that a push for this product and serial may mean: those with endpoints, or if there are none, those
// with only HID devices. A unit whose link_state is false, because it is switched off or out of range, is left out.
func (g *Grouping) Units(product, serial string) (units []Unit) {
	for _, m := range []*unitIndex{g.products[product], g.hidOnly[product]} {
		for _, inst := range m.fitting(serial) {
			if u := inst.unit(); (!u.Leaving || u.HID) && inst.link().Value != False { // something of it is present
				units = append(units, u)
			}
		}
		if len(units) > 0 {
			break
		}
	}
	return units
}

// Unit returns the unit of this product and key, if it is present.
func (g *Grouping) Unit(product, key string) (u Unit, there bool) {
	inst := g.byKey[key]
	if m := g.hidOnly[product]; inst == nil && m != nil {
		inst = m.byKey[key]
	}
	if inst == nil || inst.link().Value == False {
		return Unit{}, false
	}
	return inst.unit(), true
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
	g := r.Group(in.Endpoints, in.Readings)
	g.assignPushes(in.Pushes)
	for _, inst := range g.all {
		for i, e := range inst.endpoints {
			if e.Type != AudioInput {
				continue
			}
			fields := make(map[Field][]Considered, len(r.opts.Fields))
			for _, f := range r.opts.Fields {
				fields[f] = inst.ranked(f, e, inst.hardwareBehind(e, i >= inst.own))
			}
			out[e.Key()] = fields
		}
	}
	return out
}
