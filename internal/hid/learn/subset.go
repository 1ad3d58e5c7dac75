package learn

import (
	"slices"

	"sidetone/internal/catalogue"
)

// subset is the reports of a stream that meet some conditions.
type subset struct {
	*stream
	when    []catalogue.ByteTest
	reports []phasedReport
}

// Limits of the search for conditions. What tells kinds of reports apart stands near their
// beginning and has few values; more of either would let chance find conditions.
const (
	maxTests     = 2
	testedBytes  = 16 // from the beginning, by one condition
	pairedBytes  = 8  // by two
	testedValues = 8  // different ones of such a byte
)

// subsets are the subsets with so many conditions. One without a report in each press is left
// out: it cannot follow the state.
func (l *analysis) subsets(s *stream, tests int) []subset {
	out := []subset{{stream: s, reports: s.reports}}
	for range tests {
		var narrower []subset
		for _, c := range out {
			narrower = append(narrower, l.narrow(c)...)
		}
		out = narrower
	}
	return slices.DeleteFunc(out, func(c subset) bool { return !l.inEachPress(c.reports) })
}

// narrow adds one condition, on a byte behind those that have one.
func (l *analysis) narrow(c subset) []subset {
	from, to := c.first(), min(testedBytes, c.longest)
	if n := len(c.when); n > 0 {
		from, to = c.when[n-1].Byte+1, min(pairedBytes, to)
	}
	var out []subset
	for at := from; at < to; at++ {
		if c.keys[at] != 0 {
			continue
		}
		parts := make(map[byte][]phasedReport)
		for _, r := range c.reports {
			if at < len(r.data) {
				parts[r.data[at]] = append(parts[r.data[at]], r)
			}
		}
		if len(parts) > testedValues {
			continue
		}
		for v := range 256 {
			reports := parts[byte(v)]
			if len(reports) == len(c.reports) || !l.inEachPress(reports) {
				continue
			}
			eq := catalogue.Byte(v)
			test := catalogue.ByteTest{Byte: at, Eq: &eq}
			out = append(out, subset{c.stream, append(slices.Clone(c.when), test), reports})
		}
	}
	return out
}

func (l *analysis) inEachPress(reports []phasedReport) bool {
	have := make([]bool, len(l.phases))
	for _, r := range reports {
		have[r.phase] = true
	}
	for i, p := range l.phases {
		if p.role == pressed && !have[i] {
			return false
		}
	}
	return true
}
