package devices

import (
	"cmp"
	"slices"
	"time"

	"sidetone/internal/health"
)

// Grouping holds the endpoints of one moment sorted into units, each a physical product, with the
// readings of their HID devices. Not safe for concurrent use.
type Grouping struct {
	resolver  *Resolver
	endpoints []*Endpoint // all, sorted by key
	all       []*instance
	byKey     map[string]*instance
	products  map[string]*unitIndex // by product id
	bare      map[string]*unitIndex // units without endpoints, of which only hardware is there; by product id
	withheld  []Withheld            // endpoints of no unit
}

// instance is a unit, one physical product: the endpoints that belong together.
type instance struct {
	product   *product
	key       string
	endpoints []*Endpoint // its own, then the virtual ones that were assigned to it
	own       int         // how many are its own
	pushes    []*Push
	hardware  []*Hardware
	readings  map[string][]Reading // of its HID devices, by the path of the rule
	reports   []Report
	attached  time.Time // when the first of its own endpoints was attached
	serial    string    // of any of its devices; "": unknown
	firstID   string    // smallest wire id, for the order
}

// GroupBy is what makes endpoints one physical product.
type GroupBy string

// The ways to group.
const (
	GroupContainer GroupBy = "container"
	GroupSerial    GroupBy = "serial"
	GroupModel     GroupBy = "model"
)

// Enum lists the names that a file may use.
func (GroupBy) Enum() []string {
	return Names([]GroupBy{GroupContainer, GroupSerial, GroupModel})
}

// Group sorts endpoints, hardware and readings into units. It retains them; they must not be changed.
func (r *Resolver) Group(in Inputs) *Grouping {
	g := r.newGrouping()
	g.endpoints = sorted(in.Endpoints)
	shared := r.shared(g.endpoints, in.Readings)
	var virtual []*Endpoint
	for _, e := range g.endpoints {
		p := r.matcher.find(e)
		var why Why
		if s := shared[e]; s != nil {
			p, why = s.product()
		}
		switch {
		case why.Code != "":
			g.withheld = append(g.withheld, withhold(e, why))
		case p != nil:
			g.add(p, e)
		case e.Virtual:
			virtual = append(virtual, e)
		default:
			g.withheld = append(g.withheld, Withheld{Key: e.Key(), Name: e.Name, Unknown: true, Why: Why{Code: health.WithheldUnknown}})
		}
	}
	for _, o := range g.adopt(virtual) {
		g.withheld = append(g.withheld, withhold(o.endpoint, o.why()))
	}
	g.assignHardware(in.Hardware)
	g.assignReadings(in.Readings)
	return g
}

func (r *Resolver) newGrouping() *Grouping {
	return &Grouping{
		resolver: r, byKey: make(map[string]*instance), products: make(map[string]*unitIndex), bare: make(map[string]*unitIndex),
	}
}

func sorted(endpoints []Endpoint) []*Endpoint {
	eps := make([]*Endpoint, len(endpoints))
	for i := range endpoints {
		eps[i] = &endpoints[i]
	}
	slices.SortStableFunc(eps, func(a, b *Endpoint) int { return compareKeys(a.Key(), b.Key()) })
	return eps
}

// add adds an endpoint to its unit of a product, and returns the unit.
func (g *Grouping) add(p *product, e *Endpoint) *instance {
	key := unitKey(p, groupID(p.GroupBy, e.Container, e.Serial))
	inst := g.byKey[key]
	if inst == nil {
		inst = &instance{product: p, key: key, serial: e.Serial, attached: e.Attached}
		g.byKey[key] = inst
		g.all = append(g.all, inst)
		if g.products[p.ID] == nil {
			g.products[p.ID] = &unitIndex{}
		}
		g.products[p.ID].all = append(g.products[p.ID].all, inst)
	}
	inst.endpoints = append(inst.endpoints, e)
	inst.own++
	inst.serial = cmp.Or(inst.serial, e.Serial)
	if e.Attached.Before(inst.attached) {
		inst.attached = e.Attached
	}
	return inst
}

func unitKey(p *product, id string) string { return p.ID + " " + id }

// groupID distinguishes the units of a model. Without a hardware identity from the OS the serial number
// is used; without either, all endpoints of the model are one unit.
func groupID(by GroupBy, container, serial string) string {
	switch by {
	case GroupModel:
		return ""
	case GroupSerial:
		return cmp.Or(serial, container)
	default:
		return cmp.Or(container, serial)
	}
}
