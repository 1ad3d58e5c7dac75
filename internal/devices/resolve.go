package devices

import (
	"cmp"
	"slices"

	"sidetone/internal/health"
)

// Options are the settings of a Resolver that do not come from the catalogue.
type Options struct {
	OS         OS       `json:"os"`                 // whose default id schemes apply
	AudioID    IDScheme `json:"audio_id,omitempty"` // overrides the OS's default; the catalogue overrides both
	VideoID    IDScheme `json:"video_id,omitempty"`
	IDMaxBytes int      `json:"id_max_bytes,omitempty"` // names used as ids are cut to this many bytes of UTF-8, as in the client; 0: never
	Fields     []Field  `json:"fields,omitempty"`       // the flags that may be reported; nil: all
}

// Inputs is everything that the reported list depends on.
type Inputs struct {
	Endpoints []Endpoint
	Hardware  []Hardware
	Pushes    []Push
	Readings  []Reading
}

// Resolver applies Rules. It is immutable and safe for concurrent use.
type Resolver struct {
	vendor  Company
	matcher *matcher
	opts    Options
}

// NewResolver returns a Resolver for the rules.
func NewResolver(rules Rules, opts Options) *Resolver {
	if opts.Fields == nil {
		opts.Fields = Fields
	}
	return &Resolver{vendor: rules.Vendor, matcher: newMatcher(rules.Products), opts: opts}
}

// Options returns the Resolver's options, with defaults filled in.
func (r *Resolver) Options() Options { return r.opts }

// Resolve computes what to report. It depends only on its arguments, and not on the order of
// in.Endpoints, whose keys must be unique. The caller sets Generation and At.
func (r *Resolver) Resolve(in Inputs) Snapshot {
	return r.Group(in).Resolve(in.Pushes)
}

// Resolve computes what to report of the grouped endpoints, as Resolver.Resolve does.
func (g *Grouping) Resolve(pushes []Push) Snapshot {
	s := Snapshot{Withheld: slices.Clone(g.withheld)}
	g.assignPushes(pushes)
	for _, inst := range g.all {
		g.resolver.report(inst, &s)
	}
	s.Devices = order(slices.Clone(g.all))
	g.distrustShared(s.Devices)
	slices.SortStableFunc(s.Withheld, func(a, b Withheld) int { return compareKeys(a.Key, b.Key) })
	return s
}

// report fills inst.reports from its endpoints.
func (r *Resolver) report(inst *instance, s *Snapshot) {
	inst.reports, inst.firstID = make([]Report, 0, len(inst.endpoints)), ""
	if link := inst.link(); link.Value == False {
		for _, e := range inst.endpoints {
			s.Withheld = append(s.Withheld, withhold(e, Why{Code: health.WithheldAway, Origin: link.Origin}))
		}
		return
	}
	ranked := make([]rankedReport, 0, len(inst.endpoints))
	for i, e := range inst.endpoints {
		adopted := i >= inst.own
		id := wireID(*e, r.scheme(inst.product, e.Type), r.opts.IDMaxBytes)
		if why := inst.whyWithheld(e, adopted, id); why.Code != "" {
			s.Withheld = append(s.Withheld, withhold(e, why))
			continue
		}
		rep := Report{
			Device:    Device{Type: e.Type, ID: id, Vendor: r.vendor, Model: inst.product.Model},
			Product:   inst.product.ID,
			Unit:      inst.key,
			Endpoints: []Key{e.Key()},
		}
		if e.Type == AudioInput {
			rep.setFlags(r.flags(inst, e, inst.hardwareBehind(e)))
		}
		ranked = append(ranked, rankedReport{inst.product.rankOf(e, adopted), rep})
	}
	for _, r := range inRank(ranked) {
		inst.reports = append(inst.reports, r.Report)
	}
	inst.reports = mergeReports(inst.reports)
	if !inst.product.Unrelated {
		inst.fillRelated()
	}
	for i, rep := range inst.reports {
		if i == 0 || rep.ID < inst.firstID {
			inst.firstID = rep.ID
		}
	}
}

// hardwareBehind returns the inputs of the unit whose mutes act on an audio input e: itself, or if it is virtual, the hardware at the end
// of the chain of masters that the OS names now. There is none if the OS does not name them: a virtual input may record any microphone of
// the machine. A unit without any hardware input stands for itself, such as that of a link of kind virtual.
func (inst *instance) hardwareBehind(e *Endpoint) []*Endpoint {
	at := e
	for range inst.endpoints { // no chain is longer
		if !at.Virtual {
			return []*Endpoint{at}
		}
		i := slices.IndexFunc(inst.endpoints, func(o *Endpoint) bool { return o.Type == AudioInput && o.ID == at.Master })
		if i < 0 {
			break
		}
		at = inst.endpoints[i]
	}
	own := inst.endpoints[:inst.own]
	if slices.Contains(own, e) && !slices.ContainsFunc(own, (*Endpoint).isMicrophone) {
		return []*Endpoint{e}
	}
	return nil
}

// isMicrophone reports whether e is an audio input of hardware.
func (e *Endpoint) isMicrophone() bool { return e.Type == AudioInput && !e.Virtual }

// whyWithheld returns why an endpoint of the product is not reported. Its Code is empty if it is.
func (inst *instance) whyWithheld(e *Endpoint, adopted bool, id string) Why {
	if !adopted {
		if ok, why := inst.product.wants(e); !ok {
			return why
		}
	}
	switch {
	case e.Plugged == False:
		return Why{Code: health.WithheldJackEmpty}
	case id == "":
		return Why{Code: health.WithheldNoID}
	default:
		return Why{}
	}
}

// scheme is the catalogue's, else the user's, else the OS's. guid and bus_info apply only to the types of
// endpoint that can have them.
func (r *Resolver) scheme(p *product, t Type) IDScheme {
	own, set := p.IDScheme, r.opts.AudioID
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

// fillRelated sets related to the ids of the unit's other endpoints, sorted.
func (inst *instance) fillRelated() {
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

func withhold(e *Endpoint, why Why) Withheld {
	return Withheld{Key: e.Key(), Name: e.Name, Why: why}
}

// FieldOf returns the flag that the rule at this path of a product states by itself; "": none.
func (r *Resolver) FieldOf(product, path string) Field {
	if p := r.matcher.byID[product]; p != nil {
		for _, rule := range p.Flags {
			if rule.Path == path {
				return rule.Field
			}
		}
	}
	return ""
}
