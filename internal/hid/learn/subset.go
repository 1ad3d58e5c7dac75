package learn

import (
	"slices"

	"sidetone/internal/catalogue"
)

// subset is the reports of a stream that meet certain conditions.
type subset struct {
	*stream
	when    []catalogue.ByteTest
	reports []phasedReport
}

// Limits of the search for conditions. The bytes that distinguish kinds of reports are near the start and
// have few values; beyond that, conditions would fit by chance.
const (
	maxTests     = 2
	testedBytes  = 16 // from the start, for one condition
	pairedBytes  = 8  // for two
	testedValues = 8  // distinct values of such a byte
)

// subsets returns the subsets with the given number of conditions. A subset without a report in each press is
// left out, because it cannot show the state.
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

// narrow returns the subsets with one more condition, on a byte after those that have one.
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
			test := catalogue.ByteTest{Byte: at, Eq: new(catalogue.Byte(v))}
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
