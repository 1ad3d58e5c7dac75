package devices

import (
	"slices"
	"time"
)

// ViaPush is the Origin.Via of what the vendor's software says.
const ViaPush = "push"

// Push is what the vendor's own software says of a product. It is believed before anything
// else: only that software knows.
type Push struct {
	Product string
	Serial  string // which unit; "" = the only one
	Owner   string // names the software
	State   map[Field]Tri
	Since   map[Field]time.Time // when each flag took its value
}

// deal gives each push to the unit that it speaks of, if exactly one can be meant. What waits
// for its unit, and what could mean several, has no effect.
func deal(pushes []Push, instances []*instance) {
	for i := range pushes {
		if units := unitsOf(&pushes[i], instances); len(units) == 1 {
			units[0].pushes = append(units[0].pushes, &pushes[i])
		}
	}
}

// latest are the pushes in the order in which they count for a flag: who has changed it last comes first.
func latest(pushes []*Push, f Field) []*Push {
	if len(pushes) < 2 {
		return pushes
	}
	return slices.SortedStableFunc(slices.Values(pushes), func(a, b *Push) int { return b.Since[f].Compare(a.Since[f]) })
}

func unitsOf(p *Push, instances []*instance) []*instance {
	var units []*instance
	for _, inst := range instances {
		if inst.product.ID == p.Product && (p.Serial == "" || inst.hasSerial(p.Serial)) {
			units = append(units, inst)
		}
	}
	return units
}

func (inst *instance) hasSerial(serial string) bool {
	return slices.ContainsFunc(inst.endpoints[:inst.own], func(e *Endpoint) bool { return e.Serial == serial })
}

// Unit names one plugged-in product, for people who have to choose.
type Unit struct {
	Product string `json:"product"`
	Unit    string `json:"unit"`
	Serial  string `json:"serial,omitempty"`
}

// Units returns the plugged-in products that a push of this product and serial may mean.
func (r *Resolver) Units(endpoints []Endpoint, product, serial string) []Unit {
	var s Snapshot
	var units []Unit
	for _, inst := range unitsOf(&Push{Product: product, Serial: serial}, r.group(sorted(endpoints), &s)) {
		u := Unit{Product: product, Unit: inst.key}
		for _, e := range inst.endpoints[:inst.own] {
			if e.Serial != "" {
				u.Serial = e.Serial
				break
			}
		}
		units = append(units, u)
	}
	return units
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
	var s Snapshot
	out := make(map[Key]map[Field][]Considered)
	instances := r.group(sorted(in.Endpoints), &s)
	deal(in.Pushes, instances)
	collect(in.Readings, instances)
	for _, inst := range instances {
		for i, e := range inst.endpoints {
			if e.Type != AudioInput {
				continue
			}
			fields := make(map[Field][]Considered, len(r.opts.Fields))
			for _, f := range r.opts.Fields {
				fields[f] = slices.Collect(inst.consider(f, e, inst.behind(e, i >= inst.own)))
			}
			out[e.Key()] = fields
		}
	}
	return out
}
