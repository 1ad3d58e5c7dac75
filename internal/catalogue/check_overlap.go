package catalogue

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sidetone/internal/devices"
)

// claim is one link's match of hardware ids, or of a name where it has no ids.
type claim struct {
	path    string // of the id or expression
	product *Product
	pid     string // "": by its name alone
	name    string // name_regex
	os      []devices.OS
}

// hardwareClaim is what two links must have in common to compete.
type hardwareClaim struct {
	bus      devices.Bus
	vid, pid string
}

// overlaps finds links that compete for the same hardware where nothing decides between them. A link with name_regex is an exception to one
// without, so it must come first; two different expressions are assumed to be intended. Of several models behind one id the link_state
// tells which one is there.
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
				c.path, c.pid = fmt.Sprintf("%s.pids[%d]", path, k), pid
				f.compete(seen, hardwareClaim{l.Kind.bus(), strings.ToLower(l.VID), strings.ToLower(pid)}, c)
			}
		}
	}
}

// toldApart reports whether the link_state of each product tells which of the two is there.
func toldApart(a, b claim) bool {
	return a.pid != "" && a.tellsLink(b.os) && b.tellsLink(a.os) && !reflect.DeepEqual(a.product.LinkState, b.product.LinkState)
}

// tellsLink reports whether the product has a link_state that reads HID devices on each system that the link shares with a list.
func (c claim) tellsLink(other []devices.OS) bool {
	left := slices.DeleteFunc(slices.Clone(systems(c.os)), func(os devices.OS) bool { return !forOS(other, os) })
	for _, l := range c.product.LinkState {
		if l.readsHID() {
			left = remaining(left, l.OS)
		}
	}
	return len(left) == 0
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
	hint := ""
	if a.pid != "" {
		hint = "a link_state in each that is true for this model only tells which of them is there"
	}
	switch {
	case a.name == b.name && a.product == b.product:
		f.add(b.path, "", "listed twice in this product")
	case a.name == b.name && toldApart(a, b):
		return false
	case a.name == b.name:
		f.add(b.path, hint, "overlapping match: products %q and %q both match it", a.product.ID, b.product.ID)
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
