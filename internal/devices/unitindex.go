package devices

// unitIndex has the units of one product, by what identifies the devices in them: a device finds its
// unit at a cost that does not grow with their number.
type unitIndex struct {
	all         []*instance
	byContainer map[string][]*instance
	bySerial    map[string][]*instance
	byKey       map[string]*instance // of silent units only
	knowing     [4][]*instance       // by which of a container (1) and a serial number (2) any endpoint has
}

const (
	knowsContainer = 1 << iota
	knowsSerial
)

func newUnitIndex() *unitIndex {
	return &unitIndex{byContainer: make(map[string][]*instance), bySerial: make(map[string][]*instance), byKey: make(map[string]*instance)}
}

// add takes in the identities of a unit, whose endpoints are complete.
func (x *unitIndex) add(inst *instance) {
	add := func(to map[string][]*instance, id string) {
		if list := to[id]; len(list) == 0 || list[len(list)-1] != inst {
			to[id] = append(list, inst)
		}
	}
	for _, e := range inst.endpoints[:inst.own] {
		if e.Container != "" {
			add(x.byContainer, e.Container)
		}
		if e.Serial != "" {
			add(x.bySerial, e.Serial)
		}
	}
	k := inst.identities()
	x.knowing[k] = append(x.knowing[k], inst)
}

// identities is by what a device can be compared with the unit.
func (inst *instance) identities() (k int) {
	for _, e := range inst.endpoints[:inst.own] {
		k |= identities(e.Container, e.Serial)
	}
	return k
}

func identities(container, serial string) (k int) {
	if container != "" {
		k = knowsContainer
	}
	if serial != "" {
		k |= knowsSerial
	}
	return k
}

// owners are the units that the reading's device may be a part of; where that can be told it is one.
// Two containers that are known and differ are two units: makers give one serial number to many
// devices. Only where the vendor groups by serial number does that decide.
func (g *Grouping) owners(r Reading) []*instance {
	x := g.products[r.Product]
	if x == nil {
		return nil
	}
	p := x.all[0].product
	id := groupID(p.GroupBy, r.Container, r.Serial)
	if inst := g.byKey[unitKey(p, id)]; inst != nil && (id != "" || p.GroupBy == GroupModel) {
		return []*instance{inst}
	}
	var owners []*instance
	switch {
	case p.GroupBy == GroupSerial:
		owners = x.byContainer[r.Container]
	case r.Container == "":
		owners = x.bySerial[r.Serial]
	default: // one without a container goes by its serial number
		inst := g.byKey[unitKey(p, r.Serial)]
		if r.Serial != "" && inst != nil && inst.identities()&knowsContainer == 0 {
			owners = []*instance{inst}
		}
	}
	if len(owners) == 0 {
		owners = x.incomparable(identities(r.Container, r.Serial))
	}
	return owners
}

// silentOf is the unit of a device that is of no unit with endpoints, or nil where nothing identifies it.
func (g *Grouping) silentOf(r Reading) *instance {
	p := g.resolver.matcher.byID[r.Product]
	if p == nil {
		return nil
	}
	id := groupID(p.GroupBy, r.Container, r.Serial)
	if id == "" && p.GroupBy != GroupModel {
		return nil
	}
	x := g.silent[p.ID]
	if x == nil {
		x = newUnitIndex()
		g.silent[p.ID] = x
	}
	key := unitKey(p, id)
	if inst := x.byKey[key]; inst != nil {
		return inst
	}
	inst := &instance{product: p, key: key, serial: r.Serial}
	x.byKey[key] = inst
	x.all = append(x.all, inst)
	if r.Serial != "" {
		x.bySerial[r.Serial] = append(x.bySerial[r.Serial], inst)
	}
	return inst
}

// incomparable are up to two units that know nothing of what a device knows.
func (x *unitIndex) incomparable(device int) (out []*instance) {
	for k, list := range x.knowing {
		if k&device == 0 {
			out = append(out, list[:min(len(list), 2)]...)
		}
	}
	return out
}
