package devices

// unitIndex indexes the units of one product by the identities of their devices, so that the cost of
// finding a device's unit does not grow with their number.
type unitIndex struct {
	all          []*instance
	byContainer  map[string][]*instance
	bySerial     map[string][]*instance
	byKey        map[string]*instance // of units without endpoints
	byIdentities [4][]*instance       // by which identities any endpoint has: hasContainer, hasSerial, both or none
}

const (
	hasContainer = 1 << iota
	hasSerial
)

// index fills the maps, once all units are there. It waits until a reading or a push looks for its unit: most lists need no index.
func (x *unitIndex) index() {
	if x.bySerial != nil {
		return
	}
	x.byContainer, x.bySerial = make(map[string][]*instance), make(map[string][]*instance)
	add := func(to map[string][]*instance, id string, inst *instance) {
		if list := to[id]; id != "" && (len(list) == 0 || list[len(list)-1] != inst) {
			to[id] = append(list, inst)
		}
	}
	for _, inst := range x.all {
		for _, e := range inst.endpoints[:inst.own] {
			add(x.byContainer, e.Container, inst)
			add(x.bySerial, e.Serial, inst)
		}
		if inst.own == 0 {
			add(x.bySerial, inst.serial, inst)
		}
		k := inst.identities()
		x.byIdentities[k] = append(x.byIdentities[k], inst)
	}
}

// identities returns which identities the unit's endpoints have.
func (inst *instance) identities() (k int) {
	for _, e := range inst.endpoints[:inst.own] {
		k |= identities(e.Container, e.Serial)
	}
	return k
}

func identities(container, serial string) (k int) {
	if container != "" {
		k = hasContainer
	}
	if serial != "" {
		k |= hasSerial
	}
	return k
}

// identity is what is known of a device of a product.
type identity struct{ product, container, serial string }

// unitOf returns the unit of a device, made if it belongs to no unit with endpoints; nil: it may belong to several, or nothing
// identifies it.
func (g *Grouping) unitOf(d identity) *instance {
	switch owners := g.owners(d); len(owners) {
	case 0:
		return g.bareUnit(d)
	case 1:
		return owners[0]
	}
	return nil
}

// UnitOf returns the key of the unit that a reading is of; "": it may be of several, or nothing identifies its device.
func (g *Grouping) UnitOf(r Reading) string {
	if inst := g.unitOf(identity{r.Product, r.Container, r.Serial}); inst != nil {
		return inst.key
	}
	return ""
}

// owners returns the units with endpoints that the device may belong to; exactly one if that is certain.
// Two different containers are two units even with equal serial numbers, since some makers give one
// serial number to many devices, unless the vendor groups by serial number.
func (g *Grouping) owners(d identity) []*instance {
	x := g.products[d.product]
	if x == nil {
		return nil
	}
	p := x.all[0].product
	id := groupID(p.GroupBy, d.container, d.serial)
	if inst := g.byKey[unitKey(p, id)]; inst != nil && (id != "" || p.GroupBy == GroupModel) {
		return []*instance{inst}
	}
	x.index()
	var owners []*instance
	switch {
	case p.GroupBy == GroupSerial:
		owners = x.byContainer[d.container]
	case d.container == "":
		owners = x.bySerial[d.serial]
	default: // a unit without a container is identified by its serial number
		inst := g.byKey[unitKey(p, d.serial)]
		if d.serial != "" && inst != nil && inst.identities()&hasContainer == 0 {
			owners = []*instance{inst}
		}
	}
	if len(owners) == 0 {
		owners = x.incomparable(identities(d.container, d.serial))
	}
	return owners
}

// bareUnit returns the unit of a device that belongs to no unit with endpoints, or nil if nothing identifies the device.
func (g *Grouping) bareUnit(d identity) *instance {
	p := g.resolver.matcher.byID[d.product]
	if p == nil {
		return nil
	}
	id := groupID(p.GroupBy, d.container, d.serial)
	if id == "" && p.GroupBy != GroupModel {
		return nil
	}
	x := g.bare[p.ID]
	if x == nil {
		x = &unitIndex{byKey: make(map[string]*instance)}
		g.bare[p.ID] = x
	}
	key := unitKey(p, id)
	if inst := x.byKey[key]; inst != nil {
		return inst
	}
	inst := &instance{product: p, key: key, serial: d.serial}
	x.byKey[key] = inst
	x.all = append(x.all, inst)
	return inst
}

// incomparable returns units that share no kind of identity with the device: two of each kind are enough to be ambiguous.
func (x *unitIndex) incomparable(device int) (out []*instance) {
	for k, list := range x.byIdentities {
		if k&device == 0 {
			out = append(out, list[:min(len(list), 2)]...)
		}
	}
	return out
}
