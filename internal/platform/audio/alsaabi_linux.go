package audio

import (
	"unsafe"

	"sidetone/internal/platform/linux"
)

// The control interface of ALSA, from linux/sound/asound.h (protocol 2.0.x).

// ctlElemID is struct snd_ctl_elem_id: one control of a card.
type ctlElemID struct {
	NumID     uint32 // unique within the card while the control lives
	Iface     uint32 // mixer, card, PCM, ...
	Device    uint32
	Subdevice uint32
	Name      [44]byte
	Index     uint32 // tells controls of the same name apart
}

// ctlElemList is struct snd_ctl_elem_list: a page of a card's controls.
type ctlElemList struct {
	Offset uint32 // first control wanted
	Space  uint32 // room at IDs
	Used   uint32 // how many were written there
	Count  uint32 // how many the card has
	IDs    *ctlElemID
	_      [50]byte
}

// ctlElemInfo is struct snd_ctl_elem_info: what kind of control ID is.
type ctlElemInfo struct {
	ID     ctlElemID
	Type   int32
	Access uint32
	Count  uint32 // values, one for each channel
	Owner  int32

	Enumerated struct { // a union with the range of a number
		Items, Item uint32 // the number of items; the item that Name belongs to
		Name        [64]byte
		_           [56]byte
	}
	_ [64]byte
}

// ctlElemValue is struct snd_ctl_elem_value: the values of the control ID. They are C longs, those of
// an enumeration unsigned ints. On i386 the layout would be another.
type ctlElemValue struct {
	ID     ctlElemID
	_      [2]uint32 // the second one aligns the values to 8 bytes
	Values [128]int
	_      [128]byte
}

// ctlEvent is struct snd_ctl_event.
type ctlEvent struct {
	Type int32
	Mask uint32
	ID   ctlElemID
}

// The kernel's sizes; those that differ by machine word are compared in the tests.
var (
	_ [64]byte  = [unsafe.Sizeof(ctlElemID{})]byte{}
	_ [272]byte = [unsafe.Sizeof(ctlElemInfo{})]byte{}
	_ [72]byte  = [unsafe.Sizeof(ctlEvent{})]byte{}
)

// Requests of a control device.
var (
	ctlListElems = linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'U', 0x10, unsafe.Sizeof(ctlElemList{}))
	ctlInfo      = linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'U', 0x11, unsafe.Sizeof(ctlElemInfo{}))
	ctlRead      = linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'U', 0x12, unsafe.Sizeof(ctlElemValue{}))
	ctlSubscribe = linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'U', 0x16, unsafe.Sizeof(int32(0)))
)

const (
	ctlTypeBoolean    = 1
	ctlTypeInteger    = 2
	ctlTypeEnumerated = 3

	ctlAccessRead     = 1 << 0
	ctlAccessInactive = 1 << 8 // the control does nothing now

	ctlEventElem  = 0
	ctlEventValue = 1 << 0 // bits of ctlEvent's Mask
	ctlEventTLV   = 1 << 3
)
