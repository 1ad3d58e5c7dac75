package devices

import "slices"

// inputsByID finds the audio inputs of a machine by the id that each would have under a scheme.
type inputsByID map[IDScheme]map[string][]*Endpoint

// distrustShared takes the flags of audio inputs whose id another input of the machine has, too: the client would show them for that one
// as well (rule R63). It does not matter whether the other one is reported, nor whether the catalogue knows it. Inputs that are reported
// with one id have been merged before.
func (g *Grouping) distrustShared(list []Report) {
	index := make(inputsByID)
	for i := range list {
		rep := &list[i]
		if rep.Type != AudioInput {
			continue
		}
		scheme := g.resolver.scheme(g.resolver.matcher.byID[rep.Product], AudioInput)
		others := slices.DeleteFunc(slices.Clone(g.inputs(index, scheme)[rep.ID]), func(e *Endpoint) bool {
			return slices.Contains(rep.Endpoints, e.Key()) || g.isAway(e)
		})
		if len(others) == 0 {
			continue
		}
		merged := make(map[Field]Flag, len(rep.Flags))
		for f := range rep.Flags {
			merged[f] = g.agreed(f, rep.Flags[f], others)
		}
		rep.setFlags(merged)
		for _, e := range others {
			rep.Namesakes = append(rep.Namesakes, e.Key())
		}
	}
}

// inputs returns the audio inputs of the machine by their id under a scheme.
func (g *Grouping) inputs(index inputsByID, scheme IDScheme) map[string][]*Endpoint {
	if index[scheme] == nil {
		index[scheme] = make(map[string][]*Endpoint)
		for _, e := range g.endpoints {
			if e.Type != AudioInput {
				continue
			}
			if id := wireID(*e, scheme, g.resolver.opts.IDMaxBytes); id != "" {
				index[scheme][id] = append(index[scheme][id], e)
			}
		}
	}
	return index[scheme]
}

// isAway reports whether e is an input of hardware that is switched off or out of range, and so records nothing.
func (g *Grouping) isAway(e *Endpoint) bool {
	inst := g.unitWith(e)
	return inst != nil && inst.link().Value == False
}

// agreed returns the flag if it holds for the other inputs, too. Nothing is known of an input of no product.
func (g *Grouping) agreed(f Field, flag Flag, others []*Endpoint) Flag {
	flags := []Flag{flag}
	for _, e := range others {
		inst := g.unitWith(e)
		if inst == nil {
			return Flag{}
		}
		flags = append(flags, inst.evaluate(f, e, inst.hardwareBehind(e)))
	}
	return mergeFlags(flags)
}

// unitWith returns the unit that an endpoint is part of, or nil.
func (g *Grouping) unitWith(e *Endpoint) *instance {
	if i := slices.IndexFunc(g.all, func(inst *instance) bool { return slices.Contains(inst.endpoints, e) }); i >= 0 {
		return g.all[i]
	}
	return nil
}
