package catalogue

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// Resolver is a catalogue compiled for one OS. It is immutable and safe for concurrent use.
type Resolver struct {
	*devices.Resolver
	HID       *hid.Rules
	Catalogue *Catalogue // must not be changed
}

// NewResolver compiles a catalogue. It fails only for one that does not pass Check.
func NewResolver(cat *Catalogue, opts devices.Options) (*Resolver, error) {
	rules := devices.Rules{Vendor: devices.Company{Name: cat.Vendor.Name, URL: cat.Vendor.URL}}
	for _, p := range cat.Products {
		compiled, err := p.compile(opts.OS)
		if err != nil {
			return nil, fmt.Errorf("product %q: %w", p.ID, err)
		}
		rules.Products = append(rules.Products, compiled)
	}
	return &Resolver{devices.NewResolver(rules, opts), HIDRules(cat, opts.OS), cat}, nil
}

// compile compiles a product for an OS, without what is for other systems.
func (p Product) compile(os devices.OS) (devices.Product, error) {
	out := devices.Product{
		ID: p.ID, Model: devices.Company{Name: p.Name, URL: p.URL}, Priority: p.Priority, Unrelated: p.Related == RelatedNone,
		GroupBy: p.GroupBy, IDScheme: p.IDScheme.For(os), LinkState: p.linkState(os),
	}
	var err error
	compiled := func(expr string) (re *regexp.Regexp) {
		if expr != "" && err == nil {
			re, err = regexp.Compile(expr)
		}
		return re
	}
	for _, l := range p.Links {
		if !forOS(l.OS, os) {
			continue
		}
		link := devices.Link{Bus: l.Kind.bus(), VID: strings.ToLower(l.VID), Name: compiled(l.NameRegex)}
		for _, pid := range l.PIDs {
			link.PIDs = append(link.PIDs, strings.ToLower(pid))
		}
		out.Links = append(out.Links, link)
	}
	for _, r := range p.Endpoints {
		rule := devices.EndpointRule{Type: r.Type, Report: r.Report == nil || *r.Report}
		if r.Pick != nil {
			rule.Name = compiled(r.Pick.NameRegex)
		}
		out.Endpoints = append(out.Endpoints, rule)
	}
	for _, r := range p.VirtualEndpoints {
		if forOS(r.OS, os) {
			out.Virtual = append(out.Virtual, devices.EndpointRule{Type: r.Type, Name: compiled(r.NameRegex), Report: true})
		}
	}
	for _, r := range p.flagRules() {
		if forOS(r.OS, os) {
			rule := devices.FlagRule{Field: r.Field, Source: r.compile(r.path, r.Field)}
			if r.Pick != nil {
				rule.Name = compiled(r.Pick.NameRegex)
			}
			out.Flags = append(out.Flags, rule)
		}
	}
	return out, err
}

func (p Product) linkState(os devices.OS) (out []devices.Source) {
	for _, r := range p.linkRules() {
		if forOS(r.OS, os) {
			out = append(out, r.compile(r.path, linkField))
		}
	}
	return out
}

// compile compiles the source of a field. One that Check refuses, as a recording may contain, has no effect.
func (k SourceKind) compile(path string, f devices.Field) devices.Source {
	out := devices.Source{Path: path, Stated: k.statedByDevice()}
	switch {
	case k.OSEndpointMute != nil && k.OSEndpointMute.SharedWithButton:
		out.EndpointMute = &devices.EndpointMute{InHardware: k.OSEndpointMute.strict()}
	case k.OSEffects != nil:
		out.Effect = k.effect(f)
	case k.ALSACtl != nil && !k.ALSACtl.isAmbiguousFor(f):
		out.Control = k.ALSACtl.compile()
	case k.Const != nil:
		out.Const = devices.Of(*k.Const)
	case k.Derive != nil:
		out.Derive = &devices.Derive{Or: k.Derive.Or != nil}
		for at, term := range k.Derive.Terms(path) {
			out.Derive.Terms = append(out.Derive.Terms, term.compile(at, f))
		}
	}
	return out
}

// statedByDevice reports whether the device itself states the value; a toggle, which has an anchor, only counts presses.
func (k SourceKind) statedByDevice() bool {
	switch {
	case k.Derive != nil:
		return !slices.ContainsFunc(slices.Concat(k.Derive.Or, k.Derive.And), func(term SourceKind) bool { return !term.statedByDevice() })
	case k.HIDUsage != nil:
		return k.HIDUsage.Anchor == nil
	case k.HIDReport != nil:
		return k.HIDReport.Anchor == nil
	}
	return k.HIDQuery != nil || k.HIDPP != nil
}

func (c *ALSACtl) compile() *devices.Control {
	out := &devices.Control{Name: c.Name, Invert: c.Invert, Shared: c.SharedWithButton}
	if c.IsSwitch() {
		return out
	}
	out.Means = make(map[string]devices.Tri)
	for _, value := range c.Off {
		out.Means[value] = devices.False
	}
	for _, value := range c.On {
		out.Means[value] = devices.True
	}
	return out
}

func forOS(list []devices.OS, os devices.OS) bool { return len(list) == 0 || slices.Contains(list, os) }
