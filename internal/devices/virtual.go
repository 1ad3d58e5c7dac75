package devices

import (
	"slices"

	"sidetone/internal/health"
)

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

func (o orphan) why() Why {
	if o.fit > 0 {
		return Why{Code: health.WithheldOfSeveral, Several: o.fit}
	}
	return Why{Code: health.WithheldVirtual}
}
