package devices

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Grouping is what is there at one moment: the endpoints sorted into units, each a physical product,
// with what was read off their HID devices. Not safe for concurrent use.
type Grouping struct {
	resolver *Resolver
	all      []*instance
	byKey    map[string]*instance
	products map[string]*members // by product id
	silent   map[string]*members // those units of which only HID devices are there
	withheld []Withheld          // endpoints of no unit
}

// instance is one physical product: the endpoints that belong together.
type instance struct {
	product   *product
	key       string
	endpoints []*Endpoint          // its own, then the virtual ones that it adopted
	own       int                  // how many are its own
	pushes    []*Push              // what the vendor's software says of it
	readings  map[string][]Reading // what was read off its other devices, by the place of the rule
	reports   []Report
	attached  time.Time // of the first of its own endpoints
	newest    time.Time // of the last of them
	serial    string    // of its devices, if any tells
	staying   bool      // not all of its own endpoints are leaving
	firstID   string    // smallest wire id, for the order
}

// GroupBy says what makes endpoints one physical product.
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

// Group sorts endpoints and readings into units. It keeps both, and they must not change.
func (r *Resolver) Group(endpoints []Endpoint, readings []Reading) *Grouping {
	g := &Grouping{
		resolver: r, byKey: make(map[string]*instance), products: make(map[string]*members), silent: make(map[string]*members),
	}
	var virtual []*Endpoint
	for _, e := range sorted(endpoints) {
		p := r.matcher.find(e)
		switch {
		case p != nil:
			g.add(p, e)
		case e.Virtual:
			virtual = append(virtual, e)
		default:
			g.withheld = append(g.withheld, Withheld{Key: e.Key(), Name: e.Name, Reason: "the catalogue names no such device", Unknown: true})
		}
	}
	for _, o := range g.adopt(virtual) {
		g.withheld = append(g.withheld, withhold(o.endpoint, o.reason()))
	}
	for _, inst := range g.all {
		g.products[inst.product.ID].index(inst)
	}
	g.assignReadings(readings)
	return g
}

func sorted(endpoints []Endpoint) []*Endpoint {
	eps := make([]*Endpoint, len(endpoints))
	for i := range endpoints {
		eps[i] = &endpoints[i]
	}
	slices.SortFunc(eps, func(a, b *Endpoint) int { return compareKeys(a.Key(), b.Key()) })
	return eps
}

func (g *Grouping) add(p *product, e *Endpoint) {
	key := unitKey(p, groupID(p.GroupBy, e.Container, e.Serial))
	inst := g.byKey[key]
	if inst == nil {
		inst = &instance{product: p, key: key, serial: e.Serial, attached: e.Attached}
		g.byKey[key] = inst
		g.all = append(g.all, inst)
		if g.products[p.ID] == nil {
			g.products[p.ID] = newMembers()
		}
		g.products[p.ID].all = append(g.products[p.ID].all, inst)
	}
	inst.endpoints = append(inst.endpoints, e)
	inst.own++
	inst.serial = cmp.Or(inst.serial, e.Serial)
	inst.staying = inst.staying || !e.Leaving
	if e.Attached.Before(inst.attached) {
		inst.attached = e.Attached
	}
	if e.Attached.After(inst.newest) {
		inst.newest = e.Attached
	}
}

func unitKey(p *product, id string) string { return p.ID + " " + id }

// groupID tells one unit of a model from another. Where the OS gives no hardware identity
// the serial number does; without that too, all endpoints of the model are one unit.
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

// orphan is a virtual endpoint that is looking for the product whose sound it carries.
type orphan struct {
	endpoint *Endpoint
	wanted   []*instance // where the OS does not tell what it carries: units of the products that name such an endpoint
	fit      int         // how many units it may belong to
}

// unitsByEndpoint are the units by the ids of their endpoints.
type unitsByEndpoint map[string][]*instance

func (h unitsByEndpoint) add(id string, inst *instance) {
	if !slices.Contains(h[id], inst) {
		h[id] = append(h[id], inst)
	}
}

// adopt gives virtual endpoints to the units whose sound they carry and returns those for
// which there is not exactly one. One may carry the sound of another that has to find its
// unit first, hence the repetition.
func (g *Grouping) adopt(virtual []*Endpoint) []orphan {
	if len(virtual) == 0 {
		return nil
	}
	hold := make(unitsByEndpoint)
	for _, inst := range g.all {
		for _, e := range inst.endpoints {
			hold.add(e.ID, inst)
		}
	}
	orphans := make([]orphan, len(virtual))
	for i, e := range virtual {
		orphans[i] = orphan{endpoint: e}
		if e.Master == "" {
			orphans[i].wanted = g.wanting(e)
		}
	}
	for {
		var rest []orphan
		for _, o := range orphans {
			fit := o.units(hold)
			if len(fit) == 1 {
				fit[0].endpoints = append(fit[0].endpoints, o.endpoint)
				hold.add(o.endpoint.ID, fit[0])
				continue
			}
			o.fit = len(fit)
			rest = append(rest, o)
		}
		if len(rest) == len(orphans) {
			return rest
		}
		orphans = rest
	}
}

// wanting are the units of the products that name such a virtual endpoint.
func (g *Grouping) wanting(e *Endpoint) []*instance {
	var out []*instance
	for _, p := range g.resolver.matcher.wanting(e) {
		if m := g.products[p.ID]; m != nil {
			out = append(out, m.all...)
		}
	}
	return out
}

// units are those that it may belong to: where the OS tells what it carries, whose that is.
func (o orphan) units(hold unitsByEndpoint) []*instance {
	if o.endpoint.Master == "" {
		return o.wanted
	}
	var out []*instance
	for _, inst := range hold[o.endpoint.Master] {
		if inst.product.wantsVirtual(o.endpoint) {
			out = append(out, inst)
		}
	}
	return out
}

func (o orphan) reason() string {
	if o.fit > 0 {
		return fmt.Sprintf("virtual, and %d products are there whose sound it may carry", o.fit)
	}
	return "virtual, and the catalogue names no such virtual endpoint of a product that is there"
}
