package hid

import (
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Status is what is known of one device, for people.
type Status struct {
	Device
	Error   string            `json:"error,omitempty"`  // why it cannot be read
	Reason  *health.Condition `json:"reason,omitempty"` // behind Error
	Sensors []SensorStatus    `json:"sensors"`
}

// SensorStatus is what one rule makes of a device.
type SensorStatus struct {
	Product string      `json:"product"`
	Rule    string      `json:"rule"`
	Via     string      `json:"via"`
	Value   devices.Tri `json:"value"`
	Since   time.Time   `json:"since,omitzero"`
	Note    health.Code `json:"note,omitempty"` // what stands in the way of a known state; "": nothing
}

// Status returns all devices that are wanted, in the order of their nodes.
func (t *Tracker) Status() []Status {
	out := []Status{}
	for _, d := range t.devices {
		st := Status{Device: d.device, Error: d.denied, Reason: d.reason, Sensors: []SensorStatus{}}
		for _, s := range d.sensors {
			st.Sensors = append(st.Sensors, SensorStatus{s.Product, s.Place, s.via(), s.value, s.since, s.statusNote()})
		}
		out = append(out, st)
	}
	return out
}
