package descriptor

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// preparsedHeader is the beginning of preparsed data. The layout is not documented, but has been the same since Windows XP, and
// other programs that read HID devices rely on it, too.
type preparsedHeader struct {
	Magic       [8]byte // preparsedMagic
	Usage, Page uint16  // of the collection
	_           [4]byte
	Reports     [3]struct { // input, output, feature
		First, _, End uint16 // range of their caps
		Bytes         uint16 // length of the longest, including its number
	}
	_ [4]byte
}

const preparsedMagic = "HidP KDR"

// preparsedCap is a field, or usages that an array may name.
type preparsedCap struct {
	Page        uint16
	ReportID    uint8
	Bit         uint8 // of Byte, at which it begins
	Size, Count uint16
	Byte        uint16 // of the report; byte 0 is its number, or 0 where it has none
	Bits        uint16 // Size * Count
	Flags       uint32 // data of the main item
	_           [8]byte
	Kind        uint8
	_           [35]byte
	First, Last uint16 // usages
	_           [8]byte
	Index       uint16 // of the first usage, in the order of declaration
	_           uint16
	Logical     [3]int32 // of a button minimum and maximum, and of a value something else first
	_           [16]byte
}

// Bits of preparsedCap.Kind.
const (
	capPadding = 1 << 1
	capButton  = 1 << 2
	capAlias   = 1 << 5 // another usage of the same field is preferred
)

// Preparsed is what Windows stores of an outermost collection of a report descriptor.
type Preparsed struct {
	Application uint32       // usage of the collection, the page in the upper 16 bits
	Lengths     map[Kind]int // bytes of each kind's longest report, always with one for the number; 0: no report of this kind
	// Descriptor is a report descriptor of the collection alone. It declares the same fields at the same offsets. Inner collections, and
	// the padding at the end of all but the longest report, are lost. nil: the fields are inconsistent.
	Descriptor []byte
}

// ParsePreparsed parses preparsed data of Windows. With an error it returns what is known nevertheless: if only the fields are
// inconsistent, rules for bytes can still read the device.
func ParsePreparsed(b []byte) (Preparsed, error) {
	var h preparsedHeader
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil || string(h.Magic[:]) != preparsedMagic {
		return Preparsed{}, errors.New("preparsed data: not in the known format of Windows")
	}
	p := Preparsed{Application: fullUsage(h.Page, h.Usage), Lengths: make(map[Kind]int)}
	for i, kind := range []Kind{Input, Output, Feature} {
		p.Lengths[kind] = int(h.Reports[i].Bytes)
	}
	var caps [3][]preparsedCap
	w := new(writer)
	for i, r := range h.Reports {
		if caps[i], err = readCaps(b[n:], int(r.First), int(r.End)); err != nil {
			return p, fmt.Errorf("preparsed data: %w", err)
		}
		w.numbered = w.numbered || slices.ContainsFunc(caps[i], func(c preparsedCap) bool { return c.ReportID != 0 })
	}
	w.fourBytes(localUsage, p.Application)
	w.unsigned(mainCollection, 1)
	for i, tag := range []byte{mainInput, mainOutput, mainFeature} {
		if err := w.reports(tag, caps[i], int(h.Reports[i].Bytes)); err != nil {
			return p, fmt.Errorf("preparsed data: %w", err)
		}
	}
	w.item(mainEndCollection, nil)
	p.Descriptor = w.out
	return p, nil
}

// readCaps returns the caps from first up to end, in the order of their offsets.
func readCaps(b []byte, first, end int) ([]preparsedCap, error) {
	size := binary.Size(preparsedCap{})
	if first > end || end*size > len(b) {
		return nil, fmt.Errorf("caps %d to %d are not in %d bytes", first, end, len(b))
	}
	var caps []preparsedCap
	for i := first; i < end; i++ {
		var c preparsedCap
		if _, err := binary.Decode(b[i*size:], binary.LittleEndian, &c); err != nil {
			return nil, err
		}
		if c.Kind&(capPadding|capAlias) != 0 {
			continue
		}
		if int(c.Bits) != int(c.Size)*int(c.Count) || c.Byte == 0 {
			return nil, fmt.Errorf("cap %d has %d values of %d bits in %d bits from byte %d on", i, c.Count, c.Size, c.Bits, c.Byte)
		}
		caps = append(caps, c)
	}
	slices.SortStableFunc(caps, func(a, b preparsedCap) int {
		return cmp.Or(cmp.Compare(a.ReportID, b.ReportID), cmp.Compare(a.start(), b.start()), cmp.Compare(a.Index, b.Index))
	})
	return caps, nil
}

// start returns the offset of the field in bits, from the first byte of the report.
func (c preparsedCap) start() int { return 8*int(c.Byte) + int(c.Bit) }

func (c preparsedCap) isArray() bool { return c.Flags&flagVariable == 0 }

func (c preparsedCap) logical() (low, high int32) {
	switch {
	case c.Kind&capButton == 0:
		low, high = c.Logical[1], c.Logical[2]
	case c.isArray():
		low, high = c.Logical[0], c.Logical[1]
	default: // a field of one bit, for which Windows stores no range
		return 0, 1
	}
	if low >= 0 && high < 0 && c.Size < 32 { // see globalItems.logical; Windows does not store the length of the item
		high &= 1<<c.Size - 1
	}
	return low, high
}

// writer makes a report descriptor.
type writer struct {
	out      []byte
	numbered bool // reports begin with their number
}

func (w *writer) item(tag byte, data []byte) {
	w.out = append(append(w.out, tag|[]byte{0, 1, 2, 0, 3}[len(data)]), data...)
}

// unsigned writes an item with an unsigned number in as few bytes as possible.
func (w *writer) unsigned(tag byte, v uint32) {
	b := binary.LittleEndian.AppendUint32(nil, v)
	switch {
	case v <= 0xff:
		b = b[:1]
	case v <= 0xffff:
		b = b[:2]
	}
	w.item(tag, b)
}

// fourBytes writes an item with a signed number, or with a usage that includes its page.
func (w *writer) fourBytes(tag byte, v uint32) { w.item(tag, binary.LittleEndian.AppendUint32(nil, v)) }

// reports declares all reports of a kind; longest is the length of the longest in bytes.
func (w *writer) reports(tag byte, caps []preparsedCap, longest int) error {
	if len(caps) == 0 && !w.numbered {
		w.pad(tag, 8*(longest-1))
		return nil
	}
	only := len(caps) > 0 && caps[0].ReportID == caps[len(caps)-1].ReportID
	for len(caps) > 0 {
		n := 1
		for n < len(caps) && caps[n].ReportID == caps[0].ReportID {
			n++
		}
		end, err := w.report(tag, caps[:n])
		if err != nil || end > 8*longest {
			return cmp.Or(err, fmt.Errorf("report %d has %d bits, but the longest %d bytes", caps[0].ReportID, end, longest))
		}
		if only {
			w.pad(tag, 8*longest-end)
		} else {
			w.pad(tag, -end&7)
		}
		caps = caps[n:]
	}
	return nil
}

// report declares the fields of one report, and returns its length in bits.
func (w *writer) report(tag byte, caps []preparsedCap) (end int, err error) {
	if id := caps[0].ReportID; id != 0 {
		w.unsigned(globalReportID, uint32(id))
	}
	end = 8 // its number
	for len(caps) > 0 {
		c, n := caps[0], 1
		for n < len(caps) && c.isArray() && caps[n].start() == c.start() {
			n++
		}
		if c.start() < end {
			return 0, fmt.Errorf("two fields of report %d have bit %d", c.ReportID, c.start())
		}
		w.pad(tag, c.start()-end)
		end = c.start() + int(c.Bits)
		w.field(tag, caps[:n])
		caps = caps[n:]
	}
	return end, nil
}

// field declares a field by its usages.
func (w *writer) field(tag byte, caps []preparsedCap) {
	for _, c := range caps {
		first, last := fullUsage(c.Page, c.First), fullUsage(c.Page, c.Last)
		switch {
		case first == last && c.First == 0: // it has none
		case first == last:
			w.fourBytes(localUsage, first)
		default:
			w.fourBytes(localUsageMin, first)
			w.fourBytes(localUsageMax, last)
		}
	}
	c := caps[0]
	low, high := c.logical()
	w.fourBytes(globalLogicalMin, uint32(low))
	w.fourBytes(globalLogicalMax, uint32(high))
	w.unsigned(globalReportSize, uint32(c.Size))
	w.unsigned(globalReportCount, uint32(c.Count))
	w.unsigned(tag, c.Flags)
}

// pad declares padding.
func (w *writer) pad(tag byte, bits int) {
	if bits > 0 {
		w.unsigned(globalReportSize, 1)
		w.unsigned(globalReportCount, uint32(bits))
		w.unsigned(tag, flagConstant)
	}
}
