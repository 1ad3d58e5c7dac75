// Package descriptor parses the report descriptors of HID devices (HID 1.11, section 6.2.2): which reports there are, how
// long they are, and where in them a usage is.
package descriptor

import "math"

// MaxReport is the maximum length of a report in bytes, including its number. No headset comes near.
const MaxReport = 8192

// Further limits, as far from any headset.
const (
	maxDescriptor = math.MaxUint16 // bytes; the maximum of wDescriptorLength (HID 1.11, section 6.2.1)
	maxFields     = 4096
)

// Descriptor is a parsed report descriptor (HID 1.11, section 6.2.2).
type Descriptor struct {
	Numbered     bool     // each report begins with its number
	Fields       []Field  // the fields with a usage: those with data, in the order of declaration, then constant ones
	Applications []uint32 // usages of the outermost collections, in order; the page is in the upper 16 bits

	bits map[reportKey]int // length of each report, including its number
}

type reportKey struct {
	kind Kind
	id   uint8
}

// Find returns every field with a usage. An array that can list it is returned as a field of this usage:
// see Field.Value.
func (d *Descriptor) Find(kind Kind, page, usage uint16) []Field {
	var found []Field
	for _, f := range d.Fields {
		if f.Kind != kind {
			continue
		}
		if f.Array && f.usages.contains(fullUsage(page, usage)) {
			f.Page, f.Usage = page, usage
			found = append(found, f)
		} else if !f.Array && f.Page == page && f.Usage == usage {
			found = append(found, f)
		}
	}
	return found
}

// Length returns the length of a report in bytes, including its number; 0: there is no such report. If
// reports are not numbered, id is 0.
func (d *Descriptor) Length(kind Kind, id uint8) int {
	return (d.bits[reportKey{kind, id}] + 7) / 8
}
