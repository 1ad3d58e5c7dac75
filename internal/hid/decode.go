package hid

import (
	"cmp"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// Describe parses the device's report descriptor; nil if it is invalid or could not be read.
func Describe(d Device) *descriptor.Descriptor {
	desc, err := descriptor.Parse(d.Descriptor)
	if err != nil || len(d.Descriptor) == 0 {
		return nil
	}
	return desc
}

// fields returns the input fields of a device that belong to the control.
func (u *Usage) fields(desc *descriptor.Descriptor) []descriptor.Field {
	return desc.Find(descriptor.Input, u.Page, u.Usage)
}

// form is how a field reports the control; empty: neither the rule nor the descriptor says.
func (u *Usage) form(f descriptor.Field) descriptor.Control { return cmp.Or(u.Form, f.Control()) }

// appliesTo reports whether the rule reads a report at all.
func (r *InputReport) appliesTo(report []byte) bool {
	if r.ID != nil && (len(report) == 0 || report[0] != *r.ID) {
		return false
	}
	return meets(report, r.When)
}

// meets reports whether a report meets all conditions.
func meets(report []byte, tests []Test) bool {
	for _, t := range tests {
		if t.Byte >= len(report) || !t.Fits[report[t.Byte]] {
			return false
		}
	}
	return true
}

// decode returns the state in a report, unknown if it is not valid; false if the report is too short.
func (v *Value) decode(report []byte) (devices.Tri, bool) {
	switch {
	case v.Byte >= len(report):
		return devices.Unknown, false
	case !meets(report, v.Valid):
		return devices.Unknown, true
	}
	return v.Means[report[v.Byte]], true
}
