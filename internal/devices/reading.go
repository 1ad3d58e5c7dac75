package devices

import (
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

// assignReadings gives each reading to the unit that its device is a part of.
func (g *Grouping) assignReadings(readings []Reading) {
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

// read evaluates one source for a field. Effects belong to the endpoint that
// the client records from; a mute or a mixer switch sits in the hardware, also when a virtual
// endpoint carries its sound; what HID says holds for the whole unit.
func (inst *instance) read(s Source, f Field, e *Endpoint, behind []*Endpoint) Flag {
	switch {
	case s.Effect != "":
		return e.flag(e.Effects[s.Effect], factEffect+string(s.Effect), Origin{Via: ViaOSEffects, Detail: e.ID})
	case s.Const.Known():
		return Flag{Value: s.Const, Origin: Origin{Via: ViaConst}, Since: e.Attached}
	case s.EndpointMute != nil, s.Control != nil:
		flags := make([]Flag, 0, len(behind))
		for _, hw := range behind {
			flags = append(flags, s.readHardware(hw))
		}
		return mergeFlags(flags)
	case s.Derive != nil:
		return inst.derive(*s.Derive, f, e, behind)
	}
	var flags []Flag
	for _, r := range inst.readings[s.Place] {
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

func (inst *instance) derive(d Derive, f Field, e *Endpoint, behind []*Endpoint) Flag {
	flags := make([]Flag, 0, len(d.Terms))
	for _, s := range d.Terms {
		flags = append(flags, inst.read(s, f, e, behind))
	}
	merge := mergeFlags
	if d.Or {
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

// link is whether the unit is really there, as its link_state has it; unknown where nothing says so.
func (inst *instance) link() Flag {
	if len(inst.product.LinkState) == 0 {
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
	for _, source := range inst.product.LinkState {
		if flag := inst.read(source, linkField, first, inputs); flag.Value.Known() {
			return flag
		}
	}
	return Flag{}
}
