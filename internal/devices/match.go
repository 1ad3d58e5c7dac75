package devices

import (
	"cmp"
	"regexp"
	"slices"

	"sidetone/internal/health"
)

// matcher finds the product of an endpoint. Hardware ids are indexed, so that the cost does not grow
// with the catalogue; links without ids are tried one by one.
type matcher struct {
	byHardware map[hardwareIDs][]candidate
	byName     []candidate
	products   []*product // in the order of priority
	byID       map[string]*product
	known      nameCache // earlier matches by name
}

type hardwareIDs struct {
	bus      Bus
	vid, pid string
}

type candidate struct {
	product *product
	bus     Bus            // of the link
	name    *regexp.Regexp // nil matches every name
}

// product is a Product with its rank in the order of priority.
type product struct {
	Product
	rank int
}

func newMatcher(list []Product) *matcher {
	m := &matcher{byHardware: make(map[hardwareIDs][]candidate), byID: make(map[string]*product)}
	for _, p := range list {
		m.products = append(m.products, &product{Product: p})
	}
	slices.SortStableFunc(m.products, func(a, b *product) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
	})
	for rank, p := range m.products {
		p.rank = rank
		m.byID[p.ID] = p
		for _, l := range p.Links {
			c := candidate{p, l.Bus, l.Name}
			for _, pid := range l.PIDs {
				key := hardwareIDs{l.Bus, l.VID, pid}
				m.byHardware[key] = append(m.byHardware[key], c)
			}
			if len(l.PIDs) == 0 && l.Name != nil {
				m.byName = append(m.byName, c)
			}
		}
	}
	return m
}

// find returns e's product, or nil. Of several the one with the best rank wins. The hardware ids of a
// virtual endpoint are ignored: they are those of the device whose sound it carries.
func (m *matcher) find(e *Endpoint) *product {
	best := m.byNameOf(e)
	if e.VID != "" && e.PID != "" && !e.Virtual {
		for _, c := range m.byHardware[hardwareIDs{e.Bus, e.VID, e.PID}] {
			if (best == nil || c.product.rank < best.rank) && matchesName(c.name, e) {
				best = c.product
			}
		}
	}
	return best
}

// sharing returns the products that an endpoint of best may be of by what they say of its hardware: best, and those whose links match it in
// the same way. Their link_state tells which of them is there.
func (m *matcher) sharing(best *product, e *Endpoint) []*product {
	list := []*product{best}
	if e.VID == "" || e.PID == "" || e.Virtual || len(best.LinkState) == 0 {
		return list
	}
	candidates := m.byHardware[hardwareIDs{e.Bus, e.VID, e.PID}]
	for _, mine := range candidates {
		for _, c := range candidates {
			same := mine.product == best && expression(c.name) == expression(mine.name) && matchesName(c.name, e)
			if same && len(c.product.LinkState) > 0 && !slices.Contains(list, c.product) {
				list = append(list, c.product)
			}
		}
	}
	return list
}

func expression(re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	return re.String()
}

// fitsByName reports whether an endpoint matches a link that has only a name.
func (c candidate) fitsByName(e *Endpoint) bool {
	switch c.bus {
	case Virtual:
		return e.Virtual && matchesName(c.name, e)
	case Bluetooth, PCI:
		return e.Bus == c.bus && !e.Virtual && matchesName(c.name, e)
	default:
		return false
	}
}

// wants returns whether the product reports a hardware endpoint of its own, and if not, why not.
func (p *product) wants(e *Endpoint) (bool, Why) {
	for _, r := range p.Endpoints {
		switch {
		case !r.fits(e):
			continue
		case !r.Report:
			return false, Why{Code: health.WithheldByRule}
		}
		return true, Why{}
	}
	return false, Why{Code: health.WithheldNoRule, Product: p.ID}
}

func (p *product) wantsVirtual(e *Endpoint) bool {
	return slices.ContainsFunc(p.Virtual, func(r EndpointRule) bool { return r.fits(e) })
}

// WantsEffects reports whether the product of e has a flag that the OS's own processing of e decides. To learn of that may cost the OS, or
// the user, more than to list e.
func (r *Resolver) WantsEffects(e Endpoint) bool { return r.wants(&e, Source.readsEffects) }

// WantsControls reports whether the product of e has a flag that a control of its mixer decides.
func (r *Resolver) WantsControls(e Endpoint) bool { return r.wants(&e, Source.readsControls) }

// wants reports whether the product of e has a flag with such a source.
func (r *Resolver) wants(e *Endpoint, such func(Source) bool) bool {
	products := r.matcher.naming(e)
	if !e.Virtual {
		products = nil
		if p := r.matcher.find(e); p != nil {
			products = r.matcher.sharing(p, e)
		}
	}
	return slices.ContainsFunc(products, func(p *product) bool {
		return slices.ContainsFunc(p.Flags, func(rule FlagRule) bool { return such(rule.Source) })
	})
}

func (s Source) readsEffects() bool {
	return s.Effect != "" || s.Derive != nil && slices.ContainsFunc(s.Derive.Terms, Source.readsEffects)
}

func (s Source) readsControls() bool {
	return s.Control != nil || s.Derive != nil && slices.ContainsFunc(s.Derive.Terms, Source.readsControls)
}
