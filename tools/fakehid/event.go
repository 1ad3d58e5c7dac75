//go:build linux

package fakehid

import (
	"encoding/binary"
	"fmt"
)

// The kernel's uhid protocol (include/uapi/linux/uhid.h): events of a fixed size in the byte order of the machine, without
// padding. Shorter ones may be written; the kernel takes the rest as zero.
const (
	eventStart          = 2
	eventOutput         = 6
	eventGetReport      = 9
	eventGetReportReply = 10
	eventCreate         = 11
	eventInput          = 12
	eventSetReport      = 13
	eventSetReportReply = 14
)

const (
	maxReport  = 4096
	typeSize   = 4
	eventSize  = typeSize + createSize
	createSize = 128 + 64 + 64 + 2 + 2 + 4*4 + maxReport // the largest event
)

type createFields struct {
	Name            [128]byte
	Phys, Uniq      [64]byte
	DescriptorSize  uint16
	Bus             uint16
	Vendor, Product uint32
	Version         uint32
	Country         uint32
}

type outputFields struct {
	Data [maxReport]byte
	Size uint16
	Type ReportType
}

type getFields struct {
	ID     uint32
	Number uint8
	Type   ReportType
}

type setFields struct {
	getFields
	Size uint16
	Data [maxReport]byte
}

// errorIO (EIO) is the only error that a reply can pass on to the reader of a node.
const errorIO = 5

func encodeCreate(o Options) ([]byte, error) {
	if o.Bus == 0 {
		o.Bus = USB
	}
	fields := createFields{
		DescriptorSize: uint16(len(o.Descriptor)),
		Bus:            uint16(o.Bus),
		Vendor:         uint32(o.Vendor),
		Product:        uint32(o.Product),
	}
	for _, text := range []struct {
		what, value string
		room        []byte
	}{
		{"name", o.Name, fields.Name[:]},
		{"phys", o.Phys, fields.Phys[:]},
		{"uniq", o.Uniq, fields.Uniq[:]},
	} {
		// A zero byte ends it.
		if len(text.value) >= len(text.room) {
			return nil, fmt.Errorf("its %s has %d bytes, and there is room for %d", text.what, len(text.value), len(text.room)-1)
		}
		copy(text.room, text.value)
	}
	if len(o.Descriptor) == 0 || len(o.Descriptor) > maxReport {
		return nil, fmt.Errorf("its descriptor has %d bytes, not 1 to %d", len(o.Descriptor), maxReport)
	}
	return append(encode(uint32(eventCreate), fields), o.Descriptor...), nil
}

// encodeReply answers the request of an event. A report that is too long is an error for the host.
func encodeReply(kind, id uint32, report []byte, err error) []byte {
	status := uint16(0)
	if err != nil || len(report) > maxReport {
		status, report = errorIO, nil
	}
	if kind == eventSetReport {
		return encode(uint32(eventSetReportReply), id, status)
	}
	return append(encode(uint32(eventGetReportReply), id, status, uint16(len(report))), report...)
}

// decodeRequest decodes what the host sends or asks for. id is that of the reply, which has to follow unless it is an output report.
func decodeRequest(kind uint32, body []byte) (id uint32, r Request, err error) {
	switch kind {
	case eventOutput:
		var f outputFields
		if err = decode(body, &f); err == nil {
			r = Request{Kind: Output, Type: f.Type}
			r.Report, err = sized(f.Data[:], f.Size)
		}
		if len(r.Report) > 0 {
			r.Number = r.Report[0]
		}
		return 0, r, err
	case eventGetReport:
		var f getFields
		err = decode(body, &f)
		return f.ID, Request{Kind: Get, Type: f.Type, Number: f.Number}, err
	}
	var f setFields
	if err = decode(body, &f); err == nil {
		r = Request{Kind: Set, Type: f.Type, Number: f.Number}
		r.Report, err = sized(f.Data[:], f.Size)
	}
	return f.ID, r, err
}

func sized(data []byte, size uint16) ([]byte, error) {
	if int(size) > len(data) {
		return nil, fmt.Errorf("an event claims a report of %d bytes", size)
	}
	return data[:size], nil
}

// encode concatenates fixed-size fields. It panics on anything else, a mistake that no input can cause.
func encode(fields ...any) []byte {
	var b []byte
	for _, field := range fields {
		var err error
		if b, err = binary.Append(b, binary.NativeEndian, field); err != nil {
			panic(fmt.Sprintf("fakehid: no wire form of %T: %v", field, err))
		}
	}
	return b
}

func decode(body []byte, fields any) error {
	if _, err := binary.Decode(body, binary.NativeEndian, fields); err != nil {
		return fmt.Errorf("decode an event of %d bytes: %w", len(body), err)
	}
	return nil
}
