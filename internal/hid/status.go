package hid

import (
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid/descriptor"
)

// Status is the state of one device, for display.
type Status struct {
	Device
	Reason  *health.Condition `json:"reason,omitempty"` // why it cannot be read
	Sensors []SensorStatus    `json:"sensors"`
}

// SensorStatus is the state of one rule on a device.
type SensorStatus struct {
	Product string      `json:"product"`
	Rule    string      `json:"rule"`
	Via     string      `json:"via"`
	Value   devices.Tri `json:"value"`
	Since   time.Time   `json:"since,omitzero"`
	Note    health.Code `json:"note,omitempty"` // why the state is not known; "": nothing to say
}

// Status returns all wanted devices, in the order of their nodes.
func (t *Tracker) Status() []Status {
	out := []Status{}
	for _, d := range t.devices {
		st := Status{Device: d.device, Reason: d.denied, Sensors: []SensorStatus{}}
		for _, s := range d.sensors {
			st.Sensors = append(st.Sensors, SensorStatus{s.Product, s.Path, s.Via, s.Value, s.Since, s.statusNote()})
		}
		for _, rl := range t.rules.list {
			if note := rl.unfitNote(d.device, d.desc); rl.AnchorOf == "" && note != "" {
				st.Sensors = append(st.Sensors, SensorStatus{Product: rl.Product, Rule: rl.Path, Via: rl.Via, Note: note})
			}
		}
		out = append(out, st)
	}
	return out
}

// unfitNote returns why a rule does not apply to a device of its product that may seem to be one for it, or "".
func (r *Rule) unfitNote(d Device, desc *descriptor.Descriptor) health.Code {
	switch {
	case r.lacksVersion(d):
		return health.HIDFirmwareUnknown
	case r.isTooLong(d, desc):
		return health.HIDReportShort
	}
	return ""
}
