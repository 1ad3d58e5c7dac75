package hid

import (
	"iter"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// heard is a level that the device has reported without being asked. An answer may say what was so when it was asked for; such a report
// says what has become so since the queue was last seen empty.
type heard struct {
	Value devices.Tri `json:"value"`
	Since time.Time   `json:"since"` // when it was sent at the earliest
}

// listen notes which levels a report states that is no answer.
func (d *trackedDevice) listen(e Event) {
	for _, s := range d.sensors {
		if v := s.levelIn(e.Data); v.Known() && s.isReading() {
			if s.Heard == nil {
				s.Heard = new(heard)
			}
			*s.Heard = heard{v, e.Since}
		}
	}
}

// levelIn returns the level that a report states by the rule; unknown: none.
func (s *sensor) levelIn(data []byte) (v devices.Tri) {
	switch {
	case s.Usage != nil:
		return s.usageLevel(data)
	case s.Report != nil && s.Report.Value != nil && !s.Report.Toggle && s.Report.appliesTo(data):
		v, _ = s.Report.Value.decode(data)
	case s.pp != nil && s.pp.isNotice(data):
		v, _ = s.pp.statement(data)
	}
	return v
}

// usageLevel returns the level that the rule's controls state: all the same, since many devices declare padding as further copies of the
// last control.
func (s *sensor) usageLevel(data []byte) (level devices.Tri) {
	shown := false
	for _, f := range s.fields {
		v, ok := f.Value(data)
		form := s.Usage.form(f)
		if !ok || form != descriptor.Level && (form != descriptor.Buttons || v == 0) {
			continue
		}
		one := devices.Of((v > 0) != s.Usage.Invert)
		if form == descriptor.Level {
			one = devices.Of((v != 0) != s.Usage.Invert)
		}
		if shown && one != level {
			return devices.Unknown
		}
		level, shown = one, true
	}
	return level
}

// Heard yields the levels that the device of a node, or with "" any device, has reported unasked and that still hold. Since is when each
// was last sent, at the earliest.
func (t *Tracker) Heard(node string) iter.Seq[devices.Reading] {
	return func(yield func(devices.Reading) bool) {
		for d, s := range t.sensors() {
			if s.Heard == nil || s.Heard.Value != s.Value || node != "" && d.device.Node != node {
				continue
			}
			r := devices.Reading{
				Product: s.Product, Rule: s.Path, Container: d.device.Container, Serial: d.device.Serial, Value: s.Value, Since: s.Heard.Since,
			}
			if !yield(r) {
				return
			}
		}
	}
}
