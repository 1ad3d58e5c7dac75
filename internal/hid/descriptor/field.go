package descriptor

import "slices"

// Kind is a kind of report (HID 1.11, section 6.2.2.4).
type Kind string

// The kinds of reports.
const (
	Input   Kind = "input"   // from the device, when something has changed
	Output  Kind = "output"  // to the device, such as LEDs
	Feature Kind = "feature" // read and written on demand
)

// Field is part of a report: one value, or an array that lists which of several usages are pressed
// (HID 1.11, section 6.2.2.5).
type Field struct {
	Kind     Kind
	ReportID uint8 // number of the report; 0: not numbered
	Offset   int   // in bits, from the start of the report, including its number
	Size     int   // bits of a value, or of one element of an array; at least 1

	// Array: the field has Count elements, each of which is empty or names a pressed usage. For other
	// fields Count is 1.
	Array bool
	Count int

	// Page and Usage are the meaning of the value. For an array they are the usage passed to Find, and
	// 0 in Descriptor.Fields.
	Page, Usage uint16

	Min, Max    int32 // logical minimum and maximum (HID 1.11, section 6.2.2.7)
	Relative    bool  // the value is a change, not a state
	NoPreferred bool  // the control has no preferred state to return to
	Constant    bool  // declared as padding, but with a usage, which no other field of its kind has

	usages usageList // the usages that the elements of an array may name, in the order of their values from Min
}

// Value returns the field's value in a report (including its number). For the usage of an array it is 1
// while pressed, else 0. It returns false if the report has another number or is too short, if the value is
// outside Min..Max or has more than 32 bits, and for an array that cannot name the usage.
func (f Field) Value(report []byte) (int32, bool) {
	usage := fullUsage(f.Page, f.Usage)
	switch pressed, ok := f.pressed(report); {
	case !f.Array && f.in(report):
		return f.element(report, 0)
	case !ok || !f.usages.contains(usage):
		return 0, false
	case slices.Contains(pressed, usage):
		return 1, true
	default:
		return 0, true
	}
}

// pressed returns the usages that an array lists in a report, each with the page in the upper 16 bits.
// It returns false if the report has another number or is too short.
func (f Field) pressed(report []byte) ([]uint32, bool) {
	if !f.Array || f.Size > 32 || !f.in(report) {
		return nil, false
	}
	var pressed []uint32
	for i := range f.Count {
		v, ok := f.element(report, i)
		if !ok {
			continue // HID 1.11, section 6.2.2.5: a value out of range is an empty element
		}
		if usage, named := f.usages.at(int(int64(v) - int64(f.Min))); named {
			pressed = append(pressed, usage)
		}
	}
	return pressed, true
}

// in reports whether a report contains the field.
func (f Field) in(report []byte) bool {
	if f.ReportID != 0 && (len(report) == 0 || report[0] != f.ReportID) {
		return false
	}
	return f.Offset+f.Size*f.Count <= 8*len(report)
}

// element reads one value. The lowest bit comes first (HID 1.11, section 5.8).
func (f Field) element(report []byte, i int) (int32, bool) {
	if f.Size < 1 || f.Size > 32 {
		return 0, false
	}
	first := f.Offset + i*f.Size
	last := first + f.Size - 1
	var raw uint64 // 32 bits may lie across 5 bytes
	for at := last / 8; at >= first/8; at-- {
		raw = raw<<8 | uint64(report[at])
	}
	unused := 64 - f.Size
	raw = raw >> (first % 8) << unused
	v := int64(raw >> unused)
	if f.Min < 0 {
		v = int64(raw) >> unused // with its sign
	}
	return int32(v), int64(f.Min) <= v && v <= int64(f.Max)
}

// Control is how an On/Off Control, such as Phone Mute, reports its state (HID Usage Tables 1.12, section
// 3.4.1.2).
type Control string

// The three forms of an On/Off Control.
const (
	Level     Control = "level"     // a latching switch: 1 is on, 0 is off
	Momentary Control = "momentary" // a button: each 1 flips the state
	Buttons   Control = "buttons"   // two buttons: 1 switches on, -1 off
)

// Control returns the form of a field whose usage is an On/Off Control. Empty: none of the three legal
// forms, so the meaning of its values is up to the device.
func (f Field) Control() Control {
	binary := f.Min == 0 && f.Max == 1
	switch {
	case f.Array || f.Constant:
		return ""
	case binary && !f.Relative && f.NoPreferred:
		return Level
	case binary && f.Relative && !f.NoPreferred:
		return Momentary
	case f.Min == -1 && f.Max == 1 && f.Size > 1 && f.Relative && f.NoPreferred:
		return Buttons
	}
	return ""
}

// MaskAt returns the bits of byte at of the report that belong to the field.
func (f Field) MaskAt(at int) byte {
	var mask byte
	for bit := max(f.Offset, 8*at); bit < min(f.Offset+f.Size*f.Count, 8*at+8); bit++ {
		mask |= 1 << (bit % 8)
	}
	return mask
}

// HasPage reports whether a usage of the field is on the page.
func (f Field) HasPage(page uint16) bool {
	if f.Array {
		return slices.ContainsFunc(f.usages, func(r usageRange) bool { return uint16(r.first>>16) == page })
	}
	return f.Page == page
}
