package descriptor

import (
	"encoding/binary"
	"fmt"
)

// Items by their first byte, without the size bits (HID 1.11, sections 6.2.2.4, 6.2.2.7 and 6.2.2.8).
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
)

// item is the smallest part of a descriptor.
type item struct {
	tag  byte // its first byte without the size bits, or longItem
	data []byte
}

// readItem returns the first item and its length in bytes (HID 1.11, sections 6.2.2.2 and 6.2.2.3).
func readItem(b []byte) (item, int, error) {
	tag, head, size := b[0]&^3, 1, [4]int{0, 1, 2, 4}[b[0]&3]
	if b[0] == longItem {
		if len(b) < 3 {
			return item{}, 0, fmt.Errorf("the long item is cut off")
		}
		tag, head, size = longItem, 3, int(b[1])
	}
	if len(b) < head+size {
		return item{}, 0, fmt.Errorf("item %#02x has %d bytes of data, but only %d are left", b[0], size, len(b)-head)
	}
	return item{tag, b[head : head+size]}, head + size, nil
}

// The kinds of item (HID 1.11, section 6.2.2.2).
const (
	mainItem   = 0x00
	globalItem = 0x04
)

func (it item) kind() byte { return it.tag & 0x0c }

func (it item) unsigned() uint32 {
	var wide [4]byte
	copy(wide[:], it.data)
	return binary.LittleEndian.Uint32(wide[:])
}

func (it item) signed() int32 {
	switch v := it.unsigned(); len(it.data) {
	case 1:
		return int32(int8(v))
	case 2:
		return int32(int16(v))
	default:
		return int32(v)
	}
}

// extended reports whether a usage includes its page (HID 1.11, section 6.2.2.8).
func (it item) extended() bool { return len(it.data) == 4 }
