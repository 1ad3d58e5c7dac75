package devices

import (
	"slices"
	"time"
)

// Reading is a state that a rule of a product has read from one of its HID devices.
type Reading struct {
	Product   string    `json:"product"`
	Rule      string    `json:"rule"` // the path of the rule in the product: sources[1], sources[0].derive.or[1], link_state[0]
	Container string    `json:"container,omitempty"`
	Serial    string    `json:"serial,omitempty"`
	Value     Tri       `json:"value"`
	Origin    Origin    `json:"origin"`
	Since     time.Time `json:"since,omitzero"`
	Away      time.Time `json:"away,omitzero"` // of a link_state: when the product may last have been away unnoticed; zero: never
}

// assignReadings assigns each reading to the unit of its device.
func (g *Grouping) assignReadings(readings []Reading) {
	for _, r := range readings {
		inst := g.unitOf(identity{r.Product, r.Container, r.Serial})
		if inst == nil {
			continue
		}
		if inst.readings == nil {
			inst.readings = make(map[string][]Reading)
		}
		inst.readings[r.Rule] = inst.join(inst.readings[r.Rule], r)
	}
}

// join adds r to the readings of the rule. A device may have the same control on several interfaces,
// some of which may never report it: the latest known reading counts for the device.
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

// same reports whether two readings are known to be of one physical device.
func (inst *instance) same(a, b Reading) bool {
	container := a.Container != "" && b.Container != ""
	serial := a.Serial != "" && b.Serial != ""
	switch {
	case serial && (!container || inst.product.GroupBy == GroupSerial):
		return a.Serial == b.Serial
	case container:
		return a.Container == b.Container
	}
	return false
}

// read evaluates one source for a field. Effects belong to the endpoint that the client records from; a
// mute or mixer control belongs to the hardware, even if a virtual endpoint carries its sound; a HID
// reading applies to all hardware of the unit. What belongs to hardware is unknown for an input that is not known to come from it.
func (inst *instance) read(s Source, f Field, e *Endpoint, behind []*Endpoint) Flag {
	switch {
	case s.Effect != "":
		return e.flag(e.Effects[s.Effect], factEffect+string(s.Effect), Origin{Via: ViaOSEffects, Detail: e.ID})
	case s.Derive != nil:
		return inst.derive(*s.Derive, f, e, behind)
	case len(behind) == 0 && f != linkField:
		return Flag{}
	case s.Const.Known():
		return Flag{Value: s.Const, Origin: Origin{Via: ViaConst}, Since: e.Attached}
	case s.EndpointMute != nil, s.Control != nil:
		flags := make([]Flag, 0, len(behind))
		for _, hw := range behind {
			flags = append(flags, s.readHardware(hw))
		}
		return mergeFlags(flags)
	case f != linkField && !slices.ContainsFunc(behind, (*Endpoint).isMicrophone):
		return Flag{}
	}
	var flags []Flag
	for _, r := range inst.readings[s.Path] {
		flags = append(flags, Flag{r.Value, r.Origin, r.Since})
	}
	if f == linkField {
		return eitherFlag(flags)
	}
	return mergeFlags(flags)
}

// isOfHardware reports whether the source is about hardware, in part at least, and not only about the endpoint itself.
func (s Source) isOfHardware() bool {
	if s.Derive != nil {
		return slices.ContainsFunc(s.Derive.Terms, Source.isOfHardware)
	}
	return s.Effect == ""
}

// linkField stands for the unit's link_state, which is not a flag: of several devices that are one unit,
// one that is connected is enough.
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

// eitherFlag is true if any flag is, since the first became so; false if all are, since the last became so.
func eitherFlag(flags []Flag) Flag {
	for i := range flags {
		flags[i].Value = flags[i].Value.Not()
	}
	out := mergeFlags(flags)
	out.Value = out.Value.Not()
	return out
}

// link returns the unit's link_state: whether it is really connected.
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

// away returns when the unit may last have been away although its link_state does not say so; zero: never.
func (inst *instance) away() (at time.Time) {
	for _, readings := range inst.readings {
		for _, r := range readings {
			if r.Away.After(at) {
				at = r.Away
			}
		}
	}
	return at
}
