package hid

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Limits of what is read. No headset comes near.
const (
	longestDescriptor = math.MaxUint16 // bytes; as many as wDescriptorLength can tell (HID 1.11, section 6.2.1)
	longestReport     = 8192           // bytes of a report, its number included
	maxFields         = 4096
)

// Descriptor is what a report descriptor declares (HID 1.11, section 6.2.2).
type Descriptor struct {
	Numbered     bool     // each report begins with its number
	Fields       []Field  // what carries data and has a usage, in the order of declaration
	Applications []uint32 // usages of the outermost collections in their order, the page in the upper 16 bits

	bits map[reportKey]int // length of each report, its number included
}

type reportKey struct {
	kind FieldKind
	id   uint8
}

// DescriptorError is why a report descriptor has no meaning. It is a fault of the device.
type DescriptorError struct {
	At      int // the item's first byte, which counts from 0
	Problem string
}

// Error says where and why.
func (e *DescriptorError) Error() string {
	return fmt.Sprintf("report descriptor: byte %d: %s", e.At, e.Problem)
}

// Find returns every field that carries a usage. An array that can name it becomes a field of this
// usage: see Field.Value.
func (d *Descriptor) Find(kind FieldKind, page, usage uint16) []Field {
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
func (d *Descriptor) Length(kind FieldKind, id uint8) int {
	return (d.bits[reportKey{kind, id}] + 7) / 8
}

// ParseDescriptor reads a report descriptor. What does no harm is accepted, as Linux does and beyond:
// fields without a usage, collections that do not end or end too often, items that are not known.
// An error is a *DescriptorError: then the place of fields, or whether there are any, is uncertain.
func ParseDescriptor(b []byte) (*Descriptor, error) {
	if len(b) > longestDescriptor {
		return nil, &DescriptorError{longestDescriptor, fmt.Sprintf("it has %d bytes; at most %d are possible", len(b), longestDescriptor)}
	}
	p := descriptorParser{d: &Descriptor{bits: map[reportKey]int{}}}
	for at := 0; at < len(b); {
		it, n, err := readItem(b[at:])
		if err == nil {
			err = p.item(it)
		}
		if err != nil {
			return nil, &DescriptorError{at, err.Error()}
		}
		at += n
	}
	return p.end(), nil
}

// Items by their first byte without the size of the data (HID 1.11, sections 6.2.2.4, 6.2.2.7 and 6.2.2.8).
const (
	mainInput         = 0x80
	mainOutput        = 0x90
	mainFeature       = 0xb0
	mainCollection    = 0xa0
	mainEndCollection = 0xc0

	globalUsagePage   = 0x04
	globalLogicalMin  = 0x14
	globalLogicalMax  = 0x24
	globalReportSize  = 0x74
	globalReportID    = 0x84
	globalReportCount = 0x94
	globalPush        = 0xa4
	globalPop         = 0xb4

	localUsage     = 0x08
	localUsageMin  = 0x18
	localUsageMax  = 0x28
	localDelimiter = 0xa8

	longItem = 0xfe
)

// Bits of the data of an input, output or feature item (HID 1.11, section 6.2.2.5).
const (
	flagConstant    = 1 << 0
	flagVariable    = 1 << 1
	flagRelative    = 1 << 2
	flagNoPreferred = 1 << 5
	flagNull        = 1 << 6
)

// descriptorItem is the smallest part of a descriptor.
type descriptorItem struct {
	tag  byte // its first byte without the size; longItem: nothing else is known
	data []byte
}

// readItem returns the first item and how many bytes it takes (HID 1.11, sections 6.2.2.2 and 6.2.2.3).
func readItem(b []byte) (descriptorItem, int, error) {
	tag, head, size := b[0]&^3, 1, [4]int{0, 1, 2, 4}[b[0]&3]
	if b[0] == longItem {
		if len(b) < 3 {
			return descriptorItem{}, 0, fmt.Errorf("the long item is cut off")
		}
		tag, head, size = longItem, 3, int(b[1])
	}
	if len(b) < head+size {
		return descriptorItem{}, 0, fmt.Errorf("item %#02x has %d bytes of data, but only %d are left", b[0], size, len(b)-head)
	}
	return descriptorItem{tag, b[head : head+size]}, head + size, nil
}

func (it descriptorItem) isMain() bool { return it.tag&0x0c == 0 }

func (it descriptorItem) unsigned() uint32 {
	var wide [4]byte
	copy(wide[:], it.data)
	return binary.LittleEndian.Uint32(wide[:])
}

func (it descriptorItem) signed() int32 {
	switch v := it.unsigned(); len(it.data) {
	case 1:
		return int32(int8(v))
	case 2:
		return int32(int16(v))
	default:
		return int32(v)
	}
}

// extended tells whether a usage brings its own page (HID 1.11, section 6.2.2.8).
func (it descriptorItem) extended() bool { return len(it.data) == 4 }

// descriptorParser carries what holds from item to item.
type descriptorParser struct {
	d      *Descriptor
	global globalItems
	pushed []globalItems
	local  localItems
	depth  int // of collections
}

// globalItems hold until they are declared anew (HID 1.11, section 6.2.2.7).
type globalItems struct {
	page        uint16
	min, max    int32
	unsignedMax uint32
	size, count uint32
	id          uint8
}

// logical returns the range of values. A maximum has a sign, as -1 in 25 ff. Many descriptors write
// it without one where the minimum is not negative, so that 25 ff means 255 there: where the sign
// makes no sense, it is not one.
func (g globalItems) logical() (low, high int32) {
	if g.min >= 0 && g.max < 0 {
		return g.min, int32(min(g.unsignedMax, math.MaxInt32))
	}
	return g.min, g.max
}

// localItems hold up to the next main item (HID 1.11, section 6.2.2.8).
type localItems struct {
	usages    usageList
	low, high *descriptorItem // ends of a range, until both are there
	set       usageSet
}

// usageSet tells whether usages are alternatives for one control, of which the first is preferred.
type usageSet string

const (
	usageSetNone  usageSet = ""
	usageSetOpen  usageSet = "open"
	usageSetTaken usageSet = "taken" // open, and has its usage
)

// add appends usages that lie on one page.
func (l *localItems) add(first, last uint32, extended bool) {
	if l.set == usageSetTaken {
		return
	}
	if l.set == usageSetOpen {
		l.set = usageSetTaken
	}
	l.usages = l.usages.add(first, last, extended)
}

// addRange appends a range as soon as both ends are known. One that is empty or goes over pages names nothing.
func (l *localItems) addRange(page uint16) {
	if l.low == nil || l.high == nil {
		return
	}
	first, last := l.low.unsigned(), l.high.unsigned()
	low, high := l.low.extended(), l.high.extended()
	l.low, l.high = nil, nil
	switch {
	case !low && !high:
		first, last = fullUsage(page, uint16(first)), fullUsage(page, uint16(last))
	case !low:
		first |= last &^ 0xffff
	case !high:
		last |= first &^ 0xffff
	}
	if first <= last && first>>16 == last>>16 {
		l.add(first, last, low || high)
	}
}

// complete gives the usages behind which the page was declared their page: a main item "concatenates
// the last declared Usage Page with a Usage" (HID 1.11, section 6.2.2.8). Those of an item that
// switches the page between its usages keep theirs, as with Linux.
func (l *localItems) complete(page uint16) {
	for i := len(l.usages) - 1; i >= 0; i-- {
		r := &l.usages[i]
		if r.extended {
			continue
		}
		if r.first>>16 == uint32(page) {
			return
		}
		r.first, r.last = fullUsage(page, uint16(r.first)), fullUsage(page, uint16(r.last))
	}
}

func (p *descriptorParser) item(it descriptorItem) error {
	if it.isMain() {
		p.local.complete(p.global.page)
		defer func() { p.local = localItems{} }()
	}
	switch it.tag {
	case mainInput:
		return p.fields(InputField, it.unsigned())
	case mainOutput:
		return p.fields(OutputField, it.unsigned())
	case mainFeature:
		return p.fields(FeatureField, it.unsigned())
	case mainCollection:
		if p.depth == 0 {
			usage, _ := p.local.usages.at(0)
			p.d.Applications = append(p.d.Applications, usage)
		}
		p.depth++
	case mainEndCollection:
		p.depth = max(p.depth-1, 0)

	case globalUsagePage:
		p.global.page = uint16(it.unsigned())
	case globalLogicalMin:
		p.global.min = it.signed()
	case globalLogicalMax:
		p.global.max, p.global.unsignedMax = it.signed(), it.unsigned()
	case globalReportSize:
		p.global.size = it.unsigned()
	case globalReportCount:
		p.global.count = it.unsigned()
	case globalReportID:
		return p.number(it.unsigned())
	case globalPush:
		p.pushed = append(p.pushed, p.global)
	case globalPop:
		if len(p.pushed) == 0 {
			return fmt.Errorf("pop without a push")
		}
		last := len(p.pushed) - 1
		p.global, p.pushed = p.pushed[last], p.pushed[:last]

	case localUsage:
		usage := it.unsigned()
		if !it.extended() {
			usage = fullUsage(p.global.page, uint16(usage))
		}
		p.local.add(usage, usage, it.extended())
	case localUsageMin:
		p.local.low = &it
		p.local.addRange(p.global.page)
	case localUsageMax:
		p.local.high = &it
		p.local.addRange(p.global.page)
	case localDelimiter:
		p.local.set = usageSetNone
		if it.unsigned() == 1 {
			p.local.set = usageSetOpen
		}
	}
	return nil
}

// number begins, or goes on with, a report.
func (p *descriptorParser) number(id uint32) error {
	if id == 0 || id > math.MaxUint8 {
		return fmt.Errorf("report number %d is not allowed; want 1 to 255", id)
	}
	p.global.id, p.d.Numbered = uint8(id), true
	return nil
}

// fields puts what a main item declares at the end of the report.
func (p *descriptorParser) fields(kind FieldKind, flags uint32) error {
	g, report := p.global, reportKey{kind, p.global.id}
	offset, known := p.d.bits[report]
	if !known && g.id != 0 {
		offset = 8
	}
	if uint64(offset)+uint64(g.size)*uint64(g.count) > 8*longestReport {
		return fmt.Errorf("%s report %d becomes longer than %d bytes: %d more values of %d bits", kind, g.id, longestReport, g.count, g.size)
	}
	size, count := int(g.size), int(g.count)
	p.d.bits[report] = offset + size*count
	usages := p.local.usages
	if size*count == 0 || flags&flagConstant != 0 || usages.len() == 0 {
		return nil
	}
	low, high := g.logical()
	f := Field{
		Kind: kind, ReportID: g.id, Offset: offset, Size: size, Count: 1, Application: p.application(),
		Min: low, Max: high, Relative: flags&flagRelative != 0, NoPreferred: flags&flagNoPreferred != 0, Null: flags&flagNull != 0,
	}
	if flags&flagVariable == 0 {
		f.Array, f.Count, f.usages = true, count, usages
		return p.keep(f)
	}
	for i := range count {
		usage, _ := usages.at(min(i, usages.len()-1)) // the last is for all that follow: HID 1.11, section 6.2.2.8
		f.Page, f.Usage = uint16(usage>>16), uint16(usage)
		if err := p.keep(f); err != nil {
			return err
		}
		f.Offset += size
	}
	return nil
}

func (p *descriptorParser) keep(f Field) error {
	if len(p.d.Fields) == maxFields {
		return fmt.Errorf("there are more than %d fields", maxFields)
	}
	p.d.Fields = append(p.d.Fields, f)
	return nil
}

// application returns the usage of the outermost collection that is open.
func (p *descriptorParser) application() uint32 {
	if p.depth == 0 {
		return 0
	}
	return p.d.Applications[len(p.d.Applications)-1]
}

// end returns what has been declared. Where reports have numbers, all have one (HID 1.11, section
// 6.2.2.7): what was declared before the first number is in no report that could arrive.
func (p *descriptorParser) end() *Descriptor {
	if !p.d.Numbered {
		return p.d
	}
	p.d.Fields = slices.DeleteFunc(p.d.Fields, func(f Field) bool { return f.ReportID == 0 })
	for _, kind := range []FieldKind{InputField, OutputField, FeatureField} {
		delete(p.d.bits, reportKey{kind, 0})
	}
	return p.d
}
