package devices

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// matcher finds the product of an endpoint. Hardware ids are indexed, so that its cost does
// not grow with the catalogue; links without ids are tried one by one.
type matcher struct {
	byHardware map[hardware][]candidate
	byName     []candidate
	products   []*product // in the order of priority
	byID       map[string]*product
	known      memory // what was found by name
}

type hardware struct {
	bus      Bus
	vid, pid string
}

type candidate struct {
	product *product
	kind    LinkKind
	name    *regexp.Regexp // nil matches every name
}

// product is a catalogue entry made ready for an OS: expressions compiled, rules for other
// systems left out.
type product struct {
	Product
	rank      int // position in the order of priority
	endpoints []endpointRule
	virtual   []virtualRule
	sources   []sourceRule
	link      []linkRule
}

type sourceRule struct {
	SourceRule
	at string // its place in the product, for people
}

type linkRule struct {
	LinkRule
	at string
}

type endpointRule struct {
	typ    Type
	name   *regexp.Regexp
	report bool
}

type virtualRule struct {
	typ  Type
	name *regexp.Regexp
}

// newMatcher compiles the catalogue. It fails on a bad expression, which Catalogue.Check
// reports with its place.
func newMatcher(cat *Catalogue, os OS) (*matcher, error) {
	m := &matcher{byHardware: make(map[hardware][]candidate), byID: make(map[string]*product)}
	ordered := make([]*product, len(cat.Products))
	for i, p := range cat.Products {
		ordered[i] = &product{Product: p}
	}
	slices.SortStableFunc(ordered, func(a, b *product) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
	})
	m.products = ordered
	for rank, p := range ordered {
		p.rank = rank
		m.byID[p.ID] = p
		if err := m.add(p, os); err != nil {
			return nil, fmt.Errorf("product %q: %w", p.ID, err)
		}
	}
	return m, nil
}

func (m *matcher) add(p *product, os OS) error {
	if err := p.compile(os); err != nil {
		return err
	}
	for _, l := range p.Links {
		if !forOS(l.OS, os) {
			continue
		}
		name, err := compileName(l.NameRegex)
		if err != nil {
			return err
		}
		c := candidate{p, l.Kind, name}
		bus := USB
		if l.Kind == LinkBluetooth {
			bus = Bluetooth
		}
		for _, pid := range l.PIDs {
			key := hardware{bus, strings.ToLower(l.VID), strings.ToLower(pid)}
			m.byHardware[key] = append(m.byHardware[key], c)
		}
		if len(l.PIDs) == 0 && name != nil {
			m.byName = append(m.byName, c)
		}
	}
	return nil
}

func (p *product) compile(os OS) error {
	for _, r := range p.Endpoints {
		rule := endpointRule{typ: r.Type, report: r.Report == nil || *r.Report}
		if r.Pick != nil {
			var err error
			if rule.name, err = compileName(r.Pick.NameRegex); err != nil {
				return err
			}
		}
		p.endpoints = append(p.endpoints, rule)
	}
	for _, r := range p.VirtualEndpoints {
		name, err := compileName(r.NameRegex)
		if err != nil {
			return err
		}
		if forOS(r.OS, os) {
			p.virtual = append(p.virtual, virtualRule{r.Type, name})
		}
	}
	for i, s := range p.Sources {
		if forOS(s.OS, os) {
			p.sources = append(p.sources, sourceRule{s, fmt.Sprintf("sources[%d]", i)})
		}
	}
	for i, l := range p.LinkState {
		if forOS(l.OS, os) {
			p.link = append(p.link, linkRule{l, fmt.Sprintf("link_state[%d]", i)})
		}
	}
	return nil
}

func compileName(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	return regexp.Compile(expr)
}

func forOS(list []OS, os OS) bool { return len(list) == 0 || slices.Contains(list, os) }

func matchesName(re *regexp.Regexp, e *Endpoint) bool {
	return re == nil || re.MatchString(e.Name) || re.MatchString(e.ID)
}

// find returns e's product, or nil. Of several the one with the best rank wins. Hardware ids
// that a virtual endpoint bears are those of a device whose sound it carries, not its own.
func (m *matcher) find(e *Endpoint) *product {
	best := m.byNameOf(e)
	if e.VID != "" && e.PID != "" && !e.Virtual {
		for _, c := range m.byHardware[hardware{e.Bus, e.VID, e.PID}] {
			if (best == nil || c.product.rank < best.rank) && matchesName(c.name, e) {
				best = c.product
			}
		}
	}
	return best
}

// fits says whether an endpoint may be matched by name alone under this kind.
func (k LinkKind) fits(e *Endpoint) bool {
	switch k {
	case LinkBluetooth:
		return e.Bus == Bluetooth && !e.Virtual
	case LinkJack:
		return e.Bus == PCI && !e.Virtual
	case LinkVirtual:
		return e.Virtual
	default:
		return false
	}
}

// wants returns whether the product reports a hardware endpoint of its own, and if not, why.
func (p *product) wants(e *Endpoint) (bool, string) {
	for _, r := range p.endpoints {
		if r.typ != e.Type || !matchesName(r.name, e) {
			continue
		}
		if !r.report {
			return false, "the catalogue says not to report it"
		}
		return true, ""
	}
	return false, fmt.Sprintf("the catalogue reports no %s of product %q that fits it", e.Type, p.ID)
}

func (p *product) wantsVirtual(e *Endpoint) bool {
	return slices.ContainsFunc(p.virtual, func(r virtualRule) bool {
		return r.typ == e.Type && matchesName(r.name, e)
	})
}
