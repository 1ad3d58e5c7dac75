package catalogue

import (
	"fmt"
	"slices"
)

func (f *faults) endpoints(path string, rules []EndpointRule) {
	if len(rules) == 0 {
		f.add(path, "", "no endpoints: nothing of this product would be reported")
	}
	for i, r := range rules {
		at := fmt.Sprintf("%s[%d]", path, i)
		if r.Pick != nil {
			f.needRegex(at+".pick.name_regex", r.Pick.NameRegex)
		}
		if j := slices.IndexFunc(rules[:i], r.isShadowedBy); j >= 0 {
			f.add(at, fmt.Sprintf("endpoints[%d] decides before it", j), "unreachable rule")
		}
	}
}

// isShadowedBy reports whether an earlier rule matches all that r could match.
func (r EndpointRule) isShadowedBy(earlier EndpointRule) bool {
	return earlier.Type == r.Type && earlier.Pick.covers(r.Pick)
}

func (f *faults) virtual(path string, rules []VirtualRule) {
	for i, r := range rules {
		at := fmt.Sprintf("%s[%d]", path, i)
		distinct(f, at+".os", r.OS, "systems")
		f.needRegex(at+".name_regex", r.NameRegex)
		same := func(e VirtualRule) bool {
			return e.Type == r.Type && e.NameRegex == r.NameRegex && len(remaining(systems(r.OS), e.OS)) == 0
		}
		if j := slices.IndexFunc(rules[:i], same); j >= 0 {
			f.add(at, fmt.Sprintf("virtual_endpoints[%d] decides before it", j), "unreachable rule")
		}
	}
}
