package devices

import (
	"slices"

	"sidetone/internal/health"
)

// orphan is a virtual endpoint that has yet to be assigned to the unit whose sound it carries.
type orphan struct {
	endpoint *Endpoint
	wanted   []*instance // without a master: the units of the products whose virtual_endpoints match it
	fit      int         // how many units it may belong to
}

// unitsByEndpoint maps the ids of endpoints to their units.
type unitsByEndpoint map[string][]*instance

func (h unitsByEndpoint) add(id string, inst *instance) {
	if !slices.Contains(h[id], inst) {
		h[id] = append(h[id], inst)
	}
}

// adopt assigns virtual endpoints to the units whose sound they carry, and returns those for which
// there is not exactly one. It repeats, because the master of one may be another that has yet to be
// assigned.
func (g *Grouping) adopt(virtual []*Endpoint) []orphan {
	if len(virtual) == 0 {
		return nil
	}
	units := make(unitsByEndpoint)
	for _, inst := range g.all {
		for _, e := range inst.endpoints {
			units.add(e.ID, inst)
		}
	}
	orphans := make([]orphan, len(virtual))
	for i, e := range virtual {
		orphans[i] = orphan{endpoint: e}
		if e.Master == "" {
			orphans[i].wanted = g.naming(e)
		}
	}
	for {
		var rest []orphan
		for _, o := range orphans {
			fit := o.units(units)
			if len(fit) == 1 {
				fit[0].endpoints = append(fit[0].endpoints, o.endpoint)
				units.add(o.endpoint.ID, fit[0])
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

// naming returns the units of the products whose virtual_endpoints match e.
func (g *Grouping) naming(e *Endpoint) []*instance {
	var out []*instance
	for _, p := range g.resolver.matcher.naming(e) {
		if m := g.products[p.ID]; m != nil {
			out = append(out, m.all...)
		}
	}
	return out
}

// units returns the units that it may belong to: those of its master, if the OS names one.
func (o orphan) units(units unitsByEndpoint) []*instance {
	if o.endpoint.Master == "" {
		return o.wanted
	}
	var out []*instance
	for _, inst := range units[o.endpoint.Master] {
		if inst.product.wantsVirtual(o.endpoint) {
			out = append(out, inst)
		}
	}
	return out
}

func (o orphan) why() Why {
	if o.fit > 0 {
		return Why{Code: health.WithheldOfSeveral, Several: o.fit}
	}
	return Why{Code: health.WithheldVirtual}
}
