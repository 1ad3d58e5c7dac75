package hid

import (
	"cmp"
	"slices"
	"strconv"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// Usages that a rule reads if it does not say which (HID Usage Tables, section 14).
const (
	pageTelephony  = "0b"
	usagePhoneMute = "2f"
)

// UsageFields are the input fields of a device that a rule reads.
func UsageFields(u devices.HIDUsage, desc *descriptor.Descriptor) []descriptor.Field {
	return desc.Find(descriptor.Input, number(u.Page, pageTelephony), number(u.Usage, usagePhoneMute))
}

// number reads the hex digits of a catalogue that has been checked.
func number(digits, otherwise string) uint16 {
	n, _ := strconv.ParseUint(cmp.Or(digits, otherwise), 16, 16)
	return uint16(n)
}

// kindOf is what a control means by a rule; empty: neither the rule nor the descriptor says.
func kindOf(u devices.HIDUsage, f descriptor.Field) devices.HIDKind {
	if u.Kind != "" && u.Kind != devices.HIDAuto {
		return u.Kind
	}
	switch f.Control() {
	case descriptor.Level:
		return devices.HIDLevel
	case descriptor.Momentary:
		return devices.HIDToggle
	case descriptor.Buttons:
		return devices.HIDButtons
	}
	return ""
}

// meets reports whether a report meets all conditions.
func meets(report []byte, tests []devices.ByteTest) bool {
	for _, t := range tests {
		b, ok := byteAt(report, t.Byte, t.Mask)
		if !ok {
			return false
		}
		switch {
		case t.Eq != nil:
			ok = b == *t.Eq
		case t.In != nil:
			ok = slices.Contains(t.In, b)
		default:
			ok = (t.Min == nil || b >= *t.Min) && (t.Max == nil || b <= *t.Max)
		}
		if !ok {
			return false
		}
	}
	return true
}

func byteAt(report []byte, at int, mask *devices.Byte) (devices.Byte, bool) {
	if at < 0 || at >= len(report) {
		return 0, false
	}
	b := devices.Byte(report[at])
	if mask != nil {
		b &= *mask
	}
	return b, true
}

// ValueOf reads a state off a report; false where the report is too short to have it. A strict one takes no value
// for what the rule does not say of it.
func ValueOf(report []byte, v devices.ByteValue, strict bool) (devices.Tri, bool) {
	b, ok := byteAt(report, v.Byte, v.Mask)
	if !ok {
		return devices.Unknown, false
	}
	var t devices.Tri
	switch on, off := slices.Contains(v.On, b), slices.Contains(v.Off, b); {
	case on:
		t = devices.True
	case off:
		t = devices.False
	case v.On != nil && v.Off != nil:
		t = devices.Unknown
	case strict && !v.OneBit() && (v.On != nil || v.Off != nil || b > 1):
		t = devices.Unknown
	case v.On != nil:
		t = devices.False
	case v.Off != nil:
		t = devices.True
	default:
		t = devices.Of(b != 0)
	}
	if v.Invert {
		t = t.Not()
	}
	return t, true
}

// isNumbered reports whether the reports of a device have numbers; so may those of one that makes no sense.
func isNumbered(desc *descriptor.Descriptor) bool { return desc == nil || desc.Numbered }

// concerns reports whether a rule looks at a report at all.
func concerns(r devices.HIDReport, report []byte) bool {
	if r.ReportID != nil && (len(report) == 0 || devices.Byte(report[0]) != *r.ReportID) {
		return false
	}
	return meets(report, r.When)
}
