package doctor

import (
	"slices"
	"strconv"

	"sidetone/internal/control"
	"sidetone/internal/engine"
	"sidetone/internal/health"
)

func (d *examination) sources() {
	if len(d.Sources) == 0 {
		d.add(health.Problem, health.SourcesNone, "", nil)
	}
	for _, s := range d.Sources {
		if s.Name != "hid" { // see hidDevices
			d.source(s)
		}
	}
}

func (d *examination) source(s control.Source) {
	switch engine.Condition(s.Condition) {
	case engine.Working:
		d.add(health.OK, health.SourceWorks, s.Name, health.Args{"endpoints": strconv.Itoa(s.Endpoints)})
	case engine.Starting:
		d.add(health.Warning, health.SourceStarting, s.Name, nil)
	default:
		d.add(health.Problem, health.SourceUnreadable, s.Name, nil, reason(s.Reason, s.Error)...)
	}
	for _, r := range reasons(s.Remarks, s.Notes...) {
		d.add(r.Severity, health.SourceRemark, s.Name, nil, r)
	}
}

// reasons returns known, or the agent's words as conditions if an agent of another version has sent no codes or unknown ones.
func reasons(known []health.Condition, words ...string) []health.Condition {
	unknown := func(c health.Condition) bool { return !health.English.Has(c.Code) }
	if len(known) > 0 && !slices.ContainsFunc(known, unknown) {
		return known
	}
	return health.Explained(words...)
}

// reason is reasons for a single condition, which may be nil.
func reason(known *health.Condition, words string) []health.Condition {
	if known == nil {
		return reasons(nil, words)
	}
	return reasons([]health.Condition{*known}, words)
}
