package learn

import (
	"slices"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid"
)

// ReportSummary is the reports with one number from one device, for people to compare.
type ReportSummary struct {
	Device  hid.Device
	ID      *catalogue.Byte // nil: reports have no number
	Reports int
	Phases  []PhaseSummary
}

// PhaseSummary is the reports of one phase.
type PhaseSummary struct {
	Mark    Mark
	Reports []DistinctReport // in the order of their last occurrence
	More    int              // how many earlier ones are left out
}

// DistinctReport is a report and how often it came.
type DistinctReport struct {
	Data  hid.Bytes
	Times int
}

// maxSeen is how many distinct reports of a phase are shown.
const maxSeen = 6

func (l *analysis) summaries() []ReportSummary {
	var out []ReportSummary
	for _, s := range l.streams {
		seen := ReportSummary{Device: s.device, ID: s.id, Reports: len(s.reports)}
		for _, p := range l.phases {
			seen.Phases = append(seen.Phases, PhaseSummary{Mark: p.Mark})
		}
		for _, r := range s.reports {
			seen.Phases[r.phase].add(r.data)
		}
		for i := range seen.Phases {
			p := &seen.Phases[i]
			p.More = max(0, len(p.Reports)-maxSeen)
			p.Reports = p.Reports[p.More:]
		}
		out = append(out, seen)
	}
	return out
}

func (p *PhaseSummary) add(data []byte) {
	r := DistinctReport{data, 1}
	same := func(o DistinctReport) bool { return slices.Equal(o.Data, r.Data) }
	if i := slices.IndexFunc(p.Reports, same); i >= 0 {
		r.Times += p.Reports[i].Times
		p.Reports = slices.Delete(p.Reports, i, i+1)
	}
	p.Reports = append(p.Reports, r)
}
