package devices

import (
	"fmt"
	"slices"
	"time"
)

// Reading is what a rule of a product has read off a device beside its endpoints: a HID report,
// the answer to a request.
type Reading struct {
	Product   string    `json:"product"`
	Rule      string    `json:"rule"` // the place of the rule in the product: sources[1], sources[0].derive.or[1], link_state[0]
	Container string    `json:"container,omitempty"`
	Serial    string    `json:"serial,omitempty"`
	Value     Tri       `json:"value"`
	Origin    Origin    `json:"origin"`
	Since     time.Time `json:"since,omitzero"`
}

// collect gives each reading to the unit that its device is a part of.
func (g *Grouping) collect(readings []Reading) {
	for _, r := range readings {
		var inst *instance
		switch owners := g.owners(r); len(owners) {
		case 0:
			inst = g.silentOf(r)
		case 1:
			inst = owners[0]
		}
		if inst == nil {
			continue
		}
		if inst.readings == nil {
			inst.readings = make(map[string][]Reading)
		}
		inst.readings[r.Rule] = inst.join(inst.readings[r.Rule], r)
	}
}

// join adds r to what the rule has read. A device may have the same control on several of its
// interfaces, of which one may never speak: the latest that is known stands for the device.
func (inst *instance) join(list []Reading, r Reading) []Reading {
	for i, other := range list {
		if inst.same(r, other) {
			if !other.Value.Known() || r.Value.Known() && r.Since.After(other.Since) {
				list[i] = r
			}
			return list
		}
	}
	return append(list, r)
}

// same reports whether two readings are of one physical device, as far as both tell what they are of.
func (inst *instance) same(a, b Reading) bool {
	container := a.Container != "" && b.Container != ""
	serial := a.Serial != "" && b.Serial != ""
	switch {
	case serial && inst.product.GroupBy == GroupSerial:
		return a.Serial == b.Serial
	case container:
		return a.Container == b.Container
	case serial:
		return a.Serial == b.Serial
	}
	return false
}

// read evaluates one source at its place in the product. Effects belong to the endpoint that
// the client records from; a mute or a mixer switch sits in the hardware, also when a virtual
// endpoint carries its sound; what HID says holds for the whole unit.
func (inst *instance) read(at string, k SourceKind, f Field, e *Endpoint, behind []*Endpoint) Flag {
	switch {
	case k.OSEffects != nil:
		effect := k.effect(f)
		return e.flag(e.Effects[effect], factEffect+string(effect), Origin{Via: ViaOSEffects, Detail: e.ID})
	case k.Const != nil:
		return Flag{Value: Of(*k.Const), Origin: Origin{Via: ViaConst}, Since: e.Attached}
	case k.OSEndpointMute != nil, k.ALSACtl != nil:
		flags := make([]Flag, 0, len(behind))
		for _, hw := range behind {
			flags = append(flags, k.readHardware(f, hw))
		}
		return mergeFlags(flags)
	case k.Derive != nil:
		return inst.derive(at, *k.Derive, f, e, behind)
	}
	var flags []Flag
	for _, r := range inst.readings[at] {
		flags = append(flags, Flag{r.Value, r.Origin, r.Since})
	}
	if f == linkField {
		return eitherFlag(flags)
	}
	return mergeFlags(flags)
}

// linkField stands for the state of the unit's link, which is no flag: of several devices that are
// one unit, one that is there is enough.
const linkField Field = ""

// statedByDevice reports whether k is what the device itself says of its state; a toggle, which has an anchor, counts presses.
func (k SourceKind) statedByDevice() bool {
	switch {
	case k.Derive != nil:
		for _, term := range slices.Concat(k.Derive.Or, k.Derive.And) {
			if !term.statedByDevice() {
				return false
			}
		}
		return true
	case k.HIDUsage != nil:
		return k.HIDUsage.Anchor == nil
	case k.HIDReport != nil:
		return k.HIDReport.Anchor == nil
	}
	return k.HIDQuery != nil || k.HIDPP != nil
}

// Terms yields the sources that d is made of, with their places.
func (d Derive) Terms(at string) func(yield func(at string, k SourceKind) bool) {
	return func(yield func(string, SourceKind) bool) {
		for i, k := range d.Or {
			if !yield(fmt.Sprintf("%s.derive.or[%d]", at, i), k) {
				return
			}
		}
		for i, k := range d.And {
			if !yield(fmt.Sprintf("%s.derive.and[%d]", at, i), k) {
				return
			}
		}
	}
}

func (inst *instance) derive(at string, d Derive, f Field, e *Endpoint, behind []*Endpoint) Flag {
	var flags []Flag
	for at, k := range d.Terms(at) {
		flags = append(flags, inst.read(at, k, f, e, behind))
	}
	merge := mergeFlags
	if d.Or != nil {
		merge = eitherFlag
	}
	out := merge(flags)
	if !out.Value.Known() {
		return Flag{}
	}
	out.Origin.Detail = out.Origin.String()
	out.Origin.Via = ViaDerive
	return out
}

// eitherFlag is true if one flag is, since the first one is; false if all are, since the last one is.
func eitherFlag(flags []Flag) Flag {
	for i := range flags {
		flags[i].Value = flags[i].Value.Not()
	}
	out := mergeFlags(flags)
	out.Value = out.Value.Not()
	return out
}

// Of derives a state from those of the terms, in any order.
func (d Derive) Of(terms []Tri) Tri {
	out := True
	for _, v := range terms {
		if d.Or != nil {
			v = v.Not()
		}
		out = out.And(v)
	}
	if d.Or != nil {
		out = out.Not()
	}
	return out
}

// link is whether the unit is really there, as its link_state has it; unknown where nothing says so.
func (inst *instance) link() Flag {
	if len(inst.product.link) == 0 {
		return Flag{}
	}
	var inputs []*Endpoint
	for _, e := range inst.endpoints[:inst.own] {
		if e.Type == AudioInput {
			inputs = append(inputs, e)
		}
	}
	first := &Endpoint{}
	switch {
	case len(inputs) > 0:
		first = inputs[0]
	case len(inst.endpoints) > 0:
		first = inst.endpoints[0]
	}
	for _, r := range inst.product.link {
		if flag := inst.read(r.at, r.SourceKind, linkField, first, inputs); flag.Value.Known() {
			return flag
		}
	}
	return Flag{}
}
