package devices

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Options are the settings of a Resolver that are not the vendor's.
type Options struct {
	OS         OS       // whose default id schemes apply
	AudioID    IDScheme // overrides the OS's default; the catalogue overrides both
	VideoID    IDScheme
	IDMaxBytes int     // ids are cut to this many bytes of UTF-8, as the client cuts names; 0 = never
	Fields     []Field // the flags that may be reported; nil = all
}

// Inputs is everything that the reported list depends on. Later kinds of input (HID reports,
// pushed states) are further fields.
type Inputs struct {
	Endpoints []Endpoint
}

// Resolver is a catalogue made ready to be applied. It is immutable and safe for concurrent use.
type Resolver struct {
	vendor  Company
	matcher *matcher
	opts    Options
}

// NewResolver compiles cat. A catalogue that passes Check compiles.
func NewResolver(cat *Catalogue, opts Options) (*Resolver, error) {
	m, err := newMatcher(cat, opts.OS)
	if err != nil {
		return nil, err
	}
	if opts.Fields == nil {
		opts.Fields = Fields
	}
	return &Resolver{vendor: Company{cat.Vendor.Name, cat.Vendor.URL}, matcher: m, opts: opts}, nil
}

// instance is one physical product: the endpoints that belong together.
type instance struct {
	product   *product
	key       string
	endpoints []*Endpoint
	reports   []Report
	attached  time.Time // of its first endpoint
	firstID   string    // smallest wire id, for the order
}

// Resolve computes what to report. It depends on nothing but its arguments, and not on the
// order of in.Endpoints, which must not hold a key twice. Generation and At are left to the
// caller.
func (r *Resolver) Resolve(in Inputs) Snapshot {
	eps := make([]*Endpoint, len(in.Endpoints))
	for i := range in.Endpoints {
		eps[i] = &in.Endpoints[i]
	}
	slices.SortFunc(eps, func(a, b *Endpoint) int { return compareKeys(a.Key(), b.Key()) })

	var s Snapshot
	instances := r.group(eps, &s)
	for _, inst := range instances {
		r.report(inst, &s)
	}
	s.Devices = order(instances)
	slices.SortFunc(s.Withheld, func(a, b Withheld) int { return compareKeys(a.Key, b.Key) })
	return s
}

// group sorts the endpoints into physical products; those of no product go to s.Withheld.
func (r *Resolver) group(eps []*Endpoint, s *Snapshot) []*instance {
	g := grouping{byKey: make(map[string]*instance), byProduct: make(map[*product][]*instance)}
	var virtual []*Endpoint
	for _, e := range eps {
		p := r.matcher.find(e)
		switch {
		case p != nil:
			g.add(p, e)
		case e.Virtual:
			virtual = append(virtual, e)
		default:
			s.withhold(e, "the catalogue names no such device")
		}
	}
	for _, e := range virtual {
		if reason := g.adopt(e); reason != "" {
			s.withhold(e, reason)
		}
	}
	return g.all
}

type grouping struct {
	all       []*instance
	byKey     map[string]*instance
	byProduct map[*product][]*instance
}

func (g *grouping) add(p *product, e *Endpoint) {
	key := p.ID + " " + groupKey(p.GroupBy, e)
	inst := g.byKey[key]
	if inst == nil {
		inst = &instance{product: p, key: key}
		g.byKey[key] = inst
		g.all = append(g.all, inst)
		g.byProduct[p] = append(g.byProduct[p], inst)
	}
	inst.endpoints = append(inst.endpoints, e)
}

// groupKey tells one unit of a model from another. Where the OS gives no hardware identity
// the serial number does; without that too, all endpoints of the model are one unit.
func groupKey(by GroupBy, e *Endpoint) string {
	switch by {
	case GroupModel:
		return ""
	case GroupSerial:
		return cmp.Or(e.Serial, e.Container)
	default:
		return cmp.Or(e.Container, e.Serial)
	}
}

// adopt gives a virtual endpoint to the product whose sound it carries. It returns why not.
func (g *grouping) adopt(e *Endpoint) string {
	var fit []*instance
	for _, inst := range g.all {
		if inst.product.wantsVirtual(e) && (e.Master == "" || inst.has(e.Master)) {
			fit = append(fit, inst)
		}
	}
	switch len(fit) {
	case 0:
		return "virtual, and the catalogue names no such virtual endpoint of a product that is there"
	case 1:
		fit[0].endpoints = append(fit[0].endpoints, e)
		return ""
	default:
		return fmt.Sprintf("virtual, and %d products are there whose sound it may carry", len(fit))
	}
}

func (inst *instance) has(id string) bool {
	return slices.ContainsFunc(inst.endpoints, func(e *Endpoint) bool { return e.ID == id })
}

// report fills inst.reports from its endpoints.
func (r *Resolver) report(inst *instance, s *Snapshot) {
	inputs := inst.inputs()
	for _, e := range inst.endpoints {
		id := wireID(*e, r.scheme(inst.product, e.Type), r.opts.IDMaxBytes)
		if reason := inst.refuse(e, id); reason != "" {
			s.withhold(e, reason)
			continue
		}
		rep := Report{
			Device:    Device{Type: e.Type, ID: id, Vendor: r.vendor, Model: Company{inst.product.Name, inst.product.URL}},
			Product:   inst.product.ID,
			Unit:      inst.key,
			Endpoints: []Key{e.Key()},
		}
		if e.Type == AudioInput {
			rep.setFlags(r.flags(inst.product, e, inputs))
		}
		inst.reports = append(inst.reports, rep)
	}
	inst.reports = mergeReports(inst.reports)
	if inst.product.Related != RelatedNone {
		inst.relate()
	}
	for _, e := range inst.endpoints {
		if inst.attached.IsZero() || e.Attached.Before(inst.attached) {
			inst.attached = e.Attached
		}
	}
	for i, rep := range inst.reports {
		if i == 0 || rep.ID < inst.firstID {
			inst.firstID = rep.ID
		}
	}
}

// inputs are the product's own microphones: those whose switches a virtual endpoint shares.
func (inst *instance) inputs() []*Endpoint {
	var out []*Endpoint
	for _, e := range inst.endpoints {
		if e.Type != AudioInput || inst.adopted(e) {
			continue
		}
		if ok, _ := inst.product.wants(e); ok {
			out = append(out, e)
		}
	}
	return out
}

// adopted tells the product's virtual endpoints from those that a link of kind virtual names.
func (inst *instance) adopted(e *Endpoint) bool { return e.Virtual && inst.product.wantsVirtual(e) }

// refuse returns why an endpoint of the product is not reported, or "".
func (inst *instance) refuse(e *Endpoint, id string) string {
	if !inst.adopted(e) {
		if ok, reason := inst.product.wants(e); !ok {
			return reason
		}
	}
	if e.Plugged == False {
		return "nothing is plugged into its jack"
	}
	if id == "" {
		return "the OS gives it no id of the kind that the client uses"
	}
	return ""
}

func (r *Resolver) scheme(p *product, t Type) IDScheme {
	set := r.opts.AudioID
	if t == VideoInput {
		set = r.opts.VideoID
	}
	return cmp.Or(p.IDScheme.For(r.opts.OS), set, DefaultIDScheme(r.opts.OS, t))
}

func (r *Resolver) flags(p *product, e *Endpoint, inputs []*Endpoint) map[Field]Flag {
	behind := []*Endpoint{e}
	if e.Virtual {
		behind = masters(e, inputs)
	}
	out := make(map[Field]Flag, len(r.opts.Fields))
	for _, f := range r.opts.Fields {
		out[f] = evaluate(p.sources, f, e, behind)
	}
	return out
}

// masters are the hardware inputs behind a virtual endpoint: the one that it names, else all.
func masters(e *Endpoint, inputs []*Endpoint) []*Endpoint {
	i := slices.IndexFunc(inputs, func(hw *Endpoint) bool { return hw.ID == e.Master })
	if i >= 0 {
		return inputs[i : i+1]
	}
	if len(inputs) == 0 {
		return []*Endpoint{e} // a link of kind virtual: the endpoint is all there is
	}
	return inputs
}

// relate fills related with the ids of the unit's other endpoints, sorted.
func (inst *instance) relate() {
	for i := range inst.reports {
		rep := &inst.reports[i]
		for _, other := range inst.reports {
			if other.ID != rep.ID {
				rep.Related = append(rep.Related, other.ID)
			}
		}
		slices.Sort(rep.Related)
		rep.Related = slices.Compact(rep.Related)
	}
}

func (s *Snapshot) withhold(e *Endpoint, reason string) {
	s.Withheld = append(s.Withheld, Withheld{Key: e.Key(), Name: e.Name, Reason: reason})
}
