package catalogue

import (
	"fmt"
	"strings"

	"sidetone/internal/devices"
)

// claim is one link's match of hardware ids, or of a name where it has no ids.
type claim struct {
	path    string // of the id or expression
	product *Product
	name    string // name_regex
	os      []devices.OS
}

// hardwareClaim is what two links must have in common to compete.
type hardwareClaim struct {
	bus      devices.Bus
	vid, pid string
}

// overlaps finds links that compete for the same hardware where priority does not decide. A link with
// name_regex is an exception to one without, so it must come first; two different expressions are
// assumed to be intended.
func (f *faults) overlaps(products []Product) {
	seen := make(map[hardwareClaim][]claim)
	for i := range products {
		p := &products[i]
		for j, l := range p.Links {
			path := fmt.Sprintf("$.products[%d].links[%d]", i, j)
			c := claim{product: p, name: l.NameRegex, os: l.OS}
			if len(l.PIDs) == 0 && l.NameRegex != "" {
				c.path = path + ".name_regex"
				f.compete(seen, hardwareClaim{bus: l.Kind.bus()}, c)
			}
			for k, pid := range l.PIDs {
				c.path = fmt.Sprintf("%s.pids[%d]", path, k)
				f.compete(seen, hardwareClaim{l.Kind.bus(), strings.ToLower(l.VID), strings.ToLower(pid)}, c)
			}
		}
	}
}

func (f *faults) compete(seen map[hardwareClaim][]claim, key hardwareClaim, c claim) {
	for _, earlier := range seen[key] {
		if f.conflict(earlier, c) {
			break
		}
	}
	seen[key] = append(seen[key], c)
}

// conflict adds a fault if a and b compete; b comes later in the file.
func (f *faults) conflict(a, b claim) bool {
	if len(remaining(systems(a.os), b.os)) == len(systems(a.os)) {
		return false
	}
	named, plain := a, b
	if a.name == "" {
		named, plain = b, a
	}
	switch {
	case a.name == b.name && a.product == b.product:
		f.add(b.path, "", "listed twice in this product")
	case a.name == b.name:
		f.add(b.path, "", "overlapping match: products %q and %q both match it", a.product.ID, b.product.ID)
	case plain.name != "":
		return false
	case a.product == b.product:
		f.add(named.path, "", "unreachable: this product matches it without name_regex too")
	case named.product.Priority >= plain.product.Priority:
		f.add(named.path, fmt.Sprintf("give product %q a smaller priority than %d", named.product.ID, plain.product.Priority),
			"unreachable: product %q matches it without name_regex, and first", plain.product.ID)
	default:
		return false
	}
	return true
}
