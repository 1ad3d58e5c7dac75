package devices

import (
	"slices"
	"time"
)

// Push is what the vendor's own software says of a product. It is believed before anything
// else: only that software knows.
type Push struct {
	Product string
	Serial  string // which unit; "" = the only one
	Unit    string // the key of the unit that it is bound to; "" = none, and then the only one that product and serial fit is meant
	Owner   string // names the software
	State   map[Field]Tri
	Since   map[Field]time.Time // when each flag took its value
}

// assignPushes gives each push to the unit that it speaks of. What waits for its unit, and what could mean
// several, has no effect.
func (g *Grouping) assignPushes(pushes []Push) {
	for _, inst := range g.all {
		inst.pushes = nil
	}
	for i := range pushes {
		p := &pushes[i]
		inst := g.byKey[p.Unit]
		if p.Unit == "" {
			if fit := g.fitting(p.Product, p.Serial); len(fit) == 1 {
				inst = fit[0]
			}
		}
		if inst != nil {
			inst.pushes = append(inst.pushes, p)
		}
	}
}

// latestFirst are the pushes in the order in which they count for a flag: who has changed it last comes first.
func latestFirst(pushes []*Push, f Field) []*Push {
	if len(pushes) < 2 {
		return pushes
	}
	return slices.SortedStableFunc(slices.Values(pushes), func(a, b *Push) int { return b.Since[f].Compare(a.Since[f]) })
}

// fitting are the units that a push of this product and serial may mean.
func (g *Grouping) fitting(product, serial string) []*instance {
	return g.products[product].fitting(serial)
}

func (x *unitIndex) fitting(serial string) []*instance {
	switch {
	case x == nil:
		return nil
	case serial != "":
		return x.bySerial[serial]
	default:
		return x.all
	}
}

// Unit is one product that is there.
type Unit struct {
	Product string    `json:"product"`
	Key     string    `json:"unit"`
	Serial  string    `json:"serial,omitempty"`
	First   time.Time `json:"-"` // when the first of its endpoints was attached
	Last    time.Time `json:"-"` // when the last of them was
	HID     bool      `json:"-"` // a HID device of it is there
	Silent  bool      `json:"-"` // and none of its endpoints
	Leaving bool      `json:"-"` // its sound is not there any more, and is reported a moment longer
}

// Left reports whether nothing of the unit is there any more.
func (u Unit) Left() bool { return u.Leaving && !u.HID }

func (inst *instance) unit() Unit {
	return Unit{
		Product: inst.product.ID, Key: inst.key, Serial: inst.serial, First: inst.attached, Last: inst.newest,
		HID: len(inst.readings) > 0, Silent: inst.own == 0, Leaving: inst.own > 0 && !inst.staying,
	}
}

// Units are those that a push of this product and serial may mean: those with endpoints, and where there is none, those of
// which only HID devices are there. One that is switched off or out of reach, as its link_state has it, is not there.
func (g *Grouping) Units(product, serial string) (units []Unit) {
	for _, m := range []*unitIndex{g.products[product], g.silent[product]} {
		for _, inst := range m.fitting(serial) {
			if u := inst.unit(); !u.Left() && inst.link().Value != False {
				units = append(units, u)
			}
		}
		if len(units) > 0 {
			break
		}
	}
	return units
}

// Unit is the one of this key and product, if it is there.
func (g *Grouping) Unit(product, key string) (u Unit, there bool) {
	inst := g.byKey[key]
	if m := g.silent[product]; inst == nil && m != nil {
		inst = m.byKey[key]
	}
	if inst == nil || inst.link().Value == False {
		return Unit{}, false
	}
	return inst.unit(), true
}

// Products are the ids of all products of the catalogue.
func (r *Resolver) Products() []string {
	ids := make([]string, len(r.matcher.products))
	for i, p := range r.matcher.products {
		ids[i] = p.ID
	}
	return ids
}

// Explain says for every reported audio input how each of its flags came about.
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
