package devices

import "sidetone/internal/health"

// sharedUnits are the units that an endpoint may belong to, one of each product with its hardware ids, as if it belonged to each of them:
// several models behind dongles with one id. The first has the best rank.
type sharedUnits []*instance

// shared returns the units of the endpoints that several products share.
func (r *Resolver) shared(endpoints []*Endpoint, readings []Reading) map[*Endpoint]sharedUnits {
	candidates := make(map[*Endpoint][]*product)
	contested := false
	for _, e := range endpoints {
		if p := r.matcher.find(e); p != nil {
			candidates[e] = r.matcher.sharing(p, e)
			contested = contested || len(candidates[e]) > 1
		}
	}
	if !contested {
		return nil
	}
	g := r.newGrouping()
	out := make(map[*Endpoint]sharedUnits)
	for _, e := range endpoints {
		for _, p := range candidates[e] {
			inst := g.add(p, e)
			if len(candidates[e]) > 1 {
				out[e] = append(out[e], inst)
			}
		}
	}
	g.assignReadings(readings)
	return out
}

// product returns the product whose link_state says that it is there, or, if it says so of none, the only one of which it does not say the
// contrary. If none is there that is the first, which is not reported then. If nothing tells which one is there, it returns why the
// endpoint is not reported: the model would be a guess.
func (s sharedUnits) product() (*product, Why) {
	var up, possible []*product
	for _, inst := range s {
		switch inst.link().Value {
		case True:
			up = append(up, inst.product)
		case Unknown:
			possible = append(possible, inst.product)
		}
	}
	if len(up) == 0 {
		up = possible
	}
	switch len(up) {
	case 0:
		return s[0].product, Why{}
	case 1:
		return up[0], Why{}
	default:
		return nil, Why{Code: health.WithheldModel}
	}
}
