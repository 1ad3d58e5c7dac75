package descriptor

import (
	"fmt"
	"math"
	"slices"
)

// Parse parses a report descriptor. It is at least as lenient as Linux and accepts fields without a usage,
// unbalanced collections and unknown items. An error means a faulty device, whose fields could not be located.
func Parse(b []byte) (*Descriptor, error) {
	if len(b) > maxDescriptor {
		return nil, fmt.Errorf("report descriptor: byte %d: it has %d bytes; at most %d are possible", maxDescriptor, len(b), maxDescriptor)
	}
	p := parser{d: &Descriptor{bits: map[reportKey]int{}}}
	for at := 0; at < len(b); {
		it, n, err := readItem(b[at:])
		if err == nil {
			err = p.item(it)
		}
		if err != nil {
			return nil, fmt.Errorf("report descriptor: byte %d: %w", at, err)
		}
		at += n
	}
	return p.end(), nil
}

// parser is the state between items.
type parser struct {
	d      *Descriptor
	global globalItems
	pushed []globalItems
	local  localItems
	depth  int // of collections

	constants []Field // those with a usage
}

func (p *parser) item(it item) error {
	switch it.kind() {
	case mainItem:
		p.local.complete(p.global.page)
		defer func() { p.local = localItems{} }()
		return p.main(it)
	case globalItem:
		return p.globals(it)
	default:
		p.locals(it)
		return nil
	}
}

func (p *parser) main(it item) error {
	switch it.tag {
	case mainInput:
		return p.fields(Input, it.unsigned())
	case mainOutput:
		return p.fields(Output, it.unsigned())
	case mainFeature:
		return p.fields(Feature, it.unsigned())
	case mainCollection:
		if p.depth == 0 {
			usage, _ := p.local.usages.at(0)
			p.d.Applications = append(p.d.Applications, usage)
		}
		p.depth++
	case mainEndCollection:
		p.depth = max(p.depth-1, 0)
	}
	return nil
}

func (p *parser) globals(it item) error {
	switch it.tag {
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
		id := it.unsigned()
		if id == 0 || id > math.MaxUint8 {
			return fmt.Errorf("report number %d is not allowed; want 1 to 255", id)
		}
		p.global.id, p.d.Numbered = uint8(id), true
	case globalPush:
		p.pushed = append(p.pushed, p.global)
	case globalPop:
		if len(p.pushed) == 0 {
			return fmt.Errorf("pop without a push")
		}
		last := len(p.pushed) - 1
		p.global, p.pushed = p.pushed[last], p.pushed[:last]
	}
	return nil
}

func (p *parser) locals(it item) {
	switch it.tag {
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
}

// fields appends the fields of a main item to the report.
func (p *parser) fields(kind Kind, flags uint32) error {
	g, report := p.global, reportKey{kind, p.global.id}
	offset, known := p.d.bits[report]
	if !known && g.id != 0 {
		offset = 8
	}
	if uint64(offset)+uint64(g.size)*uint64(g.count) > 8*MaxReport {
		return fmt.Errorf("%s report %d becomes longer than %d bytes: %d more values of %d bits", kind, g.id, MaxReport, g.count, g.size)
	}
	size, count := int(g.size), int(g.count)
	p.d.bits[report] = offset + size*count
	usages := p.local.usages
	if size*count == 0 || usages.len() == 0 {
		return nil
	}
	low, high := g.logical()
	f := Field{
		Kind: kind, ReportID: g.id, Offset: offset, Size: size, Count: 1, Constant: flags&flagConstant != 0,
		Min: low, Max: high, Relative: flags&flagRelative != 0, NoPreferred: flags&flagNoPreferred != 0,
	}
	if f.Constant {
		p.constant(f, min(count, usages.len()), flags)
		return nil
	}
	if flags&flagVariable == 0 {
		f.Array, f.Count, f.usages = true, count, usages
		return p.keep(f)
	}
	for i := range count {
		usage, _ := usages.at(min(i, usages.len()-1)) // the last one applies to all that follow: HID 1.11, section 6.2.2.8
		f.Page, f.Usage = uint16(usage>>16), uint16(usage)
		if err := p.keep(f); err != nil {
			return err
		}
		f.Offset += size
	}
	return nil
}

// constant keeps the constant fields that have a usage of their own: speakerphones declare their controls so, and report
// them nevertheless. Others are padding, as is everything behind the last usage.
func (p *parser) constant(f Field, count int, flags uint32) {
	for i := range count {
		usage, _ := p.local.usages.at(i)
		f.Page, f.Usage = uint16(usage>>16), uint16(usage)
		if flags&flagVariable != 0 && f.Usage != 0 && len(p.constants) < maxFields {
			p.constants = append(p.constants, f)
		}
		f.Offset += f.Size
	}
}

func (p *parser) keep(f Field) error {
	if len(p.d.Fields) == maxFields {
		return fmt.Errorf("there are more than %d fields", maxFields)
	}
	p.d.Fields = append(p.d.Fields, f)
	return nil
}

// end returns the result. If reports are numbered, all are (HID 1.11, section 6.2.2.7): fields declared
// before the first number are in no report that could arrive.
func (p *parser) end() *Descriptor {
	p.addConstants()
	if !p.d.Numbered {
		return p.d
	}
	p.d.Fields = slices.DeleteFunc(p.d.Fields, func(f Field) bool { return f.ReportID == 0 })
	for _, kind := range []Kind{Input, Output, Feature} {
		delete(p.d.bits, reportKey{kind, 0})
	}
	return p.d
}

// addConstants adds the constant fields whose usage no other field has. Where one has, they are its padding.
func (p *parser) addConstants() {
	type control struct {
		kind        Kind
		page, usage uint16
	}
	known := make(map[control]bool)
	for _, f := range p.d.Fields {
		known[control{f.Kind, f.Page, f.Usage}] = true
	}
	for _, f := range p.constants {
		if !known[control{f.Kind, f.Page, f.Usage}] && len(p.d.Fields) < maxFields {
			p.d.Fields = append(p.d.Fields, f)
		}
	}
}
