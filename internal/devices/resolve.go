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
	IDMaxBytes int     // names that serve as ids are cut to this many bytes of UTF-8, as in the client; 0 = never
	Fields     []Field // the flags that may be reported; nil = all
}

// Inputs is everything that the reported list depends on.
type Inputs struct {
	Endpoints []Endpoint
	Pushes    []Push
	Readings  []Reading
}

// Resolver is a catalogue made ready to be applied. It is immutable and safe for concurrent use.
type Resolver struct {
	cat     *Catalogue
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
	return &Resolver{cat: cat, vendor: Company{cat.Vendor.Name, cat.Vendor.URL}, matcher: m, opts: opts}, nil
}

// Catalogue is what the Resolver applies; it must not be changed.
func (r *Resolver) Catalogue() *Catalogue { return r.cat }

// Options are those that the Resolver was made with, defaults filled in.
func (r *Resolver) Options() Options { return r.opts }

// instance is one physical product: the endpoints that belong together.
type instance struct {
	product   *product
	key       string
	endpoints []*Endpoint          // its own, then the virtual ones that it adopted
	own       int                  // how many are its own
	pushes    []*Push              // what the vendor's software says of it
	readings  map[string][]Reading // what was read off its other devices, by the place of the rule
	reports   []Report
	attached  time.Time // of the first of its own endpoints
	firstID   string    // smallest wire id, for the order
}

// Resolve computes what to report. It depends on nothing but its arguments, and not on the
// order of in.Endpoints, which must not hold a key twice. Generation and At are left to the
// caller.
func (r *Resolver) Resolve(in Inputs) Snapshot {
	var s Snapshot
	instances := r.group(sorted(in.Endpoints), &s)
	deal(in.Pushes, instances)
	collect(in.Readings, instances)
	for _, inst := range instances {
		r.report(inst, &s)
	}
	s.Devices = order(instances)
	slices.SortFunc(s.Withheld, func(a, b Withheld) int { return compareKeys(a.Key, b.Key) })
	return s
}

func sorted(endpoints []Endpoint) []*Endpoint {
	eps := make([]*Endpoint, len(endpoints))
	for i := range endpoints {
		eps[i] = &endpoints[i]
	}
	slices.SortFunc(eps, func(a, b *Endpoint) int { return compareKeys(a.Key(), b.Key()) })
	return eps
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
	for _, o := range g.adopt(virtual) {
		s.withhold(o.endpoint, o.reason())
	}
	return g.all
}

type grouping struct {
	all       []*instance
	byKey     map[string]*instance
	byProduct map[*product][]*instance // those products that name virtual endpoints
}

func (g *grouping) add(p *product, e *Endpoint) {
	key := p.ID + " " + groupKey(p.GroupBy, e)
	inst := g.byKey[key]
	if inst == nil {
		inst = &instance{product: p, key: key}
		g.byKey[key] = inst
		g.all = append(g.all, inst)
		if len(p.virtual) > 0 {
			g.byProduct[p] = append(g.byProduct[p], inst)
		}
	}
	inst.endpoints = append(inst.endpoints, e)
	inst.own++
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

// orphan is a virtual endpoint that is looking for the product whose sound it carries.
type orphan struct {
	endpoint *Endpoint
	wanted   []*instance // where the OS does not tell what it carries: units of the products that name such an endpoint
	fit      int         // how many units it may belong to
}

// holders are the units by the ids of their endpoints.
type holders map[string][]*instance

func (h holders) add(id string, inst *instance) {
	if !slices.Contains(h[id], inst) {
		h[id] = append(h[id], inst)
	}
}

// adopt gives virtual endpoints to the units whose sound they carry and returns those for
// which there is not exactly one. One may carry the sound of another that has to find its
// unit first, hence the repetition.
func (g *grouping) adopt(virtual []*Endpoint) []orphan {
	if len(virtual) == 0 {
		return nil
	}
	hold := make(holders)
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

func (g *grouping) wanting(e *Endpoint) []*instance {
	var out []*instance
	for p, units := range g.byProduct {
		if p.wantsVirtual(e) {
			out = append(out, units...)
		}
	}
	return out
}

// units are those that it may belong to: where the OS tells what it carries, whose that is.
func (o orphan) units(hold holders) []*instance {
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

func (o orphan) reason() string {
	if o.fit > 0 {
		return fmt.Sprintf("virtual, and %d products are there whose sound it may carry", o.fit)
	}
	return "virtual, and the catalogue names no such virtual endpoint of a product that is there"
}

// report fills inst.reports from its endpoints.
func (r *Resolver) report(inst *instance, s *Snapshot) {
	if link := inst.link(); link.Value == False {
		for _, e := range inst.endpoints {
			s.withhold(e, fmt.Sprintf("the product is switched off or out of reach: %v says so", link.Origin))
		}
		return
	}
	for i, e := range inst.endpoints {
		adopted := i >= inst.own
		id := wireID(*e, r.scheme(inst.product, e.Type), r.opts.IDMaxBytes)
		if reason := inst.refuse(e, adopted, id); reason != "" {
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
			rep.setFlags(r.flags(inst, e, inst.behind(e, adopted)))
		}
		inst.reports = append(inst.reports, rep)
	}
	inst.reports = mergeReports(inst.reports)
	if inst.product.Related != RelatedNone {
		inst.relate()
	}
	for i, e := range inst.endpoints[:inst.own] {
		if i == 0 || e.Attached.Before(inst.attached) {
			inst.attached = e.Attached
		}
	}
	for i, rep := range inst.reports {
		if i == 0 || rep.ID < inst.firstID {
			inst.firstID = rep.ID
		}
	}
}

// behind are the inputs whose switches act on an audio input of the unit: itself, or, when it
// carries the sound of others, the one that the OS names, else all that it may be.
func (inst *instance) behind(e *Endpoint, adopted bool) []*Endpoint {
	if !e.Virtual {
		return []*Endpoint{e}
	}
	var all, reported []*Endpoint
	for _, hw := range inst.endpoints[:inst.own] {
		if hw.Type != AudioInput || hw == e {
			continue
		}
		if hw.ID == e.Master {
			return []*Endpoint{hw}
		}
		all = append(all, hw)
		if ok, _ := inst.product.wants(hw); ok {
			reported = append(reported, hw)
		}
	}
	switch {
	case !adopted:
		return []*Endpoint{e} // a link of kind virtual: the endpoint is all there is
	case len(reported) > 0:
		return reported
	default:
		return all
	}
}

// refuse returns why an endpoint of the product is not reported, or "".
func (inst *instance) refuse(e *Endpoint, adopted bool, id string) string {
	if !adopted {
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

// scheme is the catalogue's, else the user's, else the OS's. A scheme that only one type of
// endpoint can have leaves the other types alone.
func (r *Resolver) scheme(p *product, t Type) IDScheme {
	own, set := p.IDScheme.For(r.opts.OS), r.opts.AudioID
	if t == VideoInput {
		set = r.opts.VideoID
	}
	if own == IDGUID && t == VideoInput || own == IDBusInfo && t != VideoInput {
		own = ""
	}
	return cmp.Or(own, set, DefaultIDScheme(r.opts.OS, t))
}

func (r *Resolver) flags(inst *instance, e *Endpoint, behind []*Endpoint) map[Field]Flag {
	out := make(map[Field]Flag, len(r.opts.Fields))
	for _, f := range r.opts.Fields {
		out[f] = inst.evaluate(f, e, behind)
	}
	return out
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
