package doctor

import (
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
		d.add(health.Problem, health.SourceUnreadable, s.Name, nil, reasons(s.Reason)...)
	}
	for _, r := range control.KnownOf(s.Remarks...) {
		d.add(r.Severity, health.SourceRemark, s.Name, nil, r)
	}
}

// reasons returns what a reason in a status says; none if it is nil.
func reasons(c *control.Condition) []health.Condition {
	if c == nil {
		return nil
	}
	return control.KnownOf(*c)
}
