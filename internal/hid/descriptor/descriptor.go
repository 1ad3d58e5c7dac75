// Package descriptor reads what a HID device declares of its reports (HID 1.11, section 6.2.2): which there are, how long
// they are, and where in them a usage lies.
package descriptor

import (
	"fmt"
	"math"
)

// MaxReport is how many bytes a report may have, its number included. No headset's comes near.
const MaxReport = 8192

// Limits of what else is read, as far from any headset.
const (
	maxDescriptor = math.MaxUint16 // bytes; as many as wDescriptorLength can tell (HID 1.11, section 6.2.1)
	maxFields     = 4096
)

// Descriptor is what a report descriptor declares (HID 1.11, section 6.2.2).
type Descriptor struct {
	Numbered     bool     // each report begins with its number
	Fields       []Field  // what carries data and has a usage, in the order of declaration
	Applications []uint32 // usages of the outermost collections in their order, the page in the upper 16 bits

	bits map[reportKey]int // length of each report, its number included
}

type reportKey struct {
	kind Kind
	id   uint8
}

// Error is why a report descriptor has no meaning. It is a fault of the device.
type Error struct {
	At      int // the item's first byte, which counts from 0
	Problem string
}

// Error says where and why.
func (e *Error) Error() string {
	return fmt.Sprintf("report descriptor: byte %d: %s", e.At, e.Problem)
}

// Find returns every field that carries a usage. An array that can name it becomes a field of this
// usage: see Field.Value.
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

// Length returns how many bytes a report has, its number included. The reports of a device without
// numbers have the number 0. 0: there is no such report.
func (d *Descriptor) Length(kind Kind, id uint8) int {
	return (d.bits[reportKey{kind, id}] + 7) / 8
}
