package descriptor

import (
	"slices"
)

// Kind says in which reports a field is (HID 1.11, section 6.2.2.4).
type Kind string

// The kinds of reports.
const (
	Input   Kind = "input"   // from the device, when something has changed
	Output  Kind = "output"  // to the device: its lamps
	Feature Kind = "feature" // read and written on demand
)

// Field is a place in a report with a meaning: one value, or an array that lists which of several
// usages are pressed (HID 1.11, section 6.2.2.5).
type Field struct {
	Kind     Kind
	ReportID uint8 // number of the report; 0: reports have none
	Offset   int   // bits from the first byte of the report, its number included
	Size     int   // bits of a value, or of one element of an array; at least 1

	// Array says that the field has Count elements, each of which is empty or names a usage that is
	// pressed. All others have a Count of 1.
	Array bool
	Count int

	// Page and Usage tell what the value means. In an array they are the one usage that was asked
	// for with Find; in Descriptor.Fields they are 0 there.
	Page, Usage uint16
	// Application is the usage of the outermost collection around it, the page in the upper 16 bits; 0: none.
	Application uint32

	Min, Max    int32 // the values that mean something, both included (HID 1.11, section 6.2.2.7)
	Relative    bool  // the value is a change, not a state
	NoPreferred bool  // the control stays where it was put
	Null        bool  // the device uses values outside Min..Max to say nothing

	usages usageList // what the elements of an array may name, the first with the value Min
}

// Value returns what a report, its number included, says in this field. For the usage of an array
// it is 1 while that is pressed, else 0. It returns false if the report does not tell: it has
// another number, is too short, or the value is outside Min..Max; always for more than 32 bits, and
// for an array that cannot name the usage.
func (f Field) Value(report []byte) (int32, bool) {
	if f.Array {
		return f.arrayValue(report)
	}
	if !f.in(report) {
		return 0, false
	}
	return f.element(report, 0)
}

func (f Field) arrayValue(report []byte) (int32, bool) {
	usage := fullUsage(f.Page, f.Usage)
	if !f.usages.contains(usage) {
		return 0, false
	}
	pressed, ok := f.Pressed(report)
	if slices.Contains(pressed, usage) {
		return 1, ok
	}
	return 0, ok
}

// Pressed returns the usages that an array lists in a report, the page in the upper 16 bits of each.
// It returns false if the report does not tell: it has another number or is too short.
func (f Field) Pressed(report []byte) ([]uint32, bool) {
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

// in tells whether a report contains the field.
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

// Control says how an On/Off Control tells its state (HID Usage Tables 1.12, section 3.4.1.2). Mute
// of a telephone is one.
type Control string

// The three forms of an On/Off Control.
const (
	Level     Control = "level"     // a switch that stays: 1 is on, 0 is off
	Momentary Control = "momentary" // a button: each 1 changes the state
	Buttons   Control = "buttons"   // a button for each: 1 switches on, -1 off
)

// Control returns the form of a field that is an On/Off Control by its usage. Empty: it is none of
// the three that are allowed, and what its values mean is up to the device.
func (f Field) Control() Control {
	binary := f.Min == 0 && f.Max == 1
	switch {
	case f.Array:
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

// MaskAt returns the bits of a byte of the report, which counts from 0, that belong to the field.
func (f Field) MaskAt(at int) byte {
	var mask byte
	for bit := max(f.Offset, 8*at); bit < min(f.Offset+f.Size*f.Count, 8*at+8); bit++ {
		mask |= 1 << (bit % 8)
	}
	return mask
}

// IsOn reports whether the field tells of a usage on the page.
func (f Field) IsOn(page uint16) bool {
	if f.Array {
		return slices.ContainsFunc(f.usages, func(r usageRange) bool { return uint16(r.first>>16) == page })
	}
	return f.Page == page
}
