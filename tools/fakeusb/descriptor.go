package fakeusb

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unicode/utf16"
)

// Descriptor types (USB 2.0, table 9-5, and the class specifications).
const (
	descriptorDevice         = 0x01
	descriptorConfiguration  = 0x02
	descriptorString         = 0x03
	descriptorInterface      = 0x04
	descriptorEndpoint       = 0x05
	descriptorQualifier      = 0x06
	descriptorAssociation    = 0x0b
	descriptorHID            = 0x21
	descriptorHIDReport      = 0x22
	descriptorClassInterface = 0x24
	descriptorClassEndpoint  = 0x25
)

// Endpoint addresses carry the direction in their top bit.
const endpointIn = 0x80

// Endpoint attributes (USB 2.0, table 9-13).
const (
	isochronousAdaptive = 0x09
	isochronousAsync    = 0x05
	bulk                = 0x02
	interrupt           = 0x03
)

// String descriptor numbers. Zero means "none".
const (
	stringManufacturer = 1
	stringName         = 2
	stringSerial       = 3
	stringFeature      = 4
)

const maxPacket0 = 64

// maxStringUnits is what fits behind the two header bytes of a string descriptor, whose length is one byte.
const maxStringUnits = 126

// configuration puts the configuration's own descriptor before those of its interfaces: value 1, no name, bus-powered, 100 mA.
func configuration(interfaces uint8, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	total := 9 + len(body)
	return append([]byte{9, descriptorConfiguration, uint8(total), uint8(total >> 8), interfaces, 1, 0, 0x80, 50}, body...)
}

func stringDescriptor(s string) []byte {
	units := utf16.Encode([]rune(s))
	b := []byte{uint8(2 + 2*len(units)), descriptorString}
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// standardDevice answers the standard requests, which are the same for all devices (USB 2.0, chapter 9).
type standardDevice struct {
	device        []byte
	qualifier     []byte
	configuration []byte
	strings       []string // by number; one that is empty has no descriptor

	mu        sync.Mutex
	alternate map[uint8]uint8 // alternate setting by interface
}

// newStandardDevice fails on a malformed id, and on strings that are too long for USB. class holds the class, subclass and protocol of the
// whole device; zeros mean "see the interfaces".
func newStandardDevice(s Spec, class [3]uint8, config []byte) (*standardDevice, error) {
	vendor, product, err := parseID(s.ID)
	if err != nil {
		return nil, err
	}
	texts := []string{stringManufacturer: s.Manufacturer, stringName: s.Name, stringSerial: s.Serial, stringFeature: s.Feature}
	for _, text := range texts {
		if units := len(utf16.Encode([]rune(text))); units > maxStringUnits {
			return nil, fmt.Errorf("string %.20q... has %d utf-16 units, a usb string descriptor holds %d", text, units, maxStringUnits)
		}
	}
	number := func(n uint8) uint8 {
		if texts[n] == "" {
			return 0
		}
		return n
	}
	return &standardDevice{
		device: []byte{
			18, descriptorDevice, 0x00, 0x02, // USB 2.0
			class[0], class[1], class[2], maxPacket0,
			uint8(vendor), uint8(vendor >> 8), uint8(product), uint8(product >> 8), 0x10, 0x01, // release 1.10
			number(stringManufacturer), number(stringName), number(stringSerial), 1, // configuration
		},
		qualifier:     []byte{10, descriptorQualifier, 0x00, 0x02, class[0], class[1], class[2], maxPacket0, 1, 0},
		configuration: config,
		strings:       texts,
		alternate:     map[uint8]uint8{},
	}, nil
}

// control answers a standard request to the device or, as far as all interfaces are alike, to an interface. handled is false
// for everything else.
func (d *standardDevice) control(s Setup) (reply []byte, handled bool, err error) {
	const (
		getStatus        = 0
		clearFeature     = 1
		setFeature       = 3
		getConfiguration = 8
		setConfiguration = 9
		getInterface     = 10
		setInterface     = 11
	)
	if !s.standard() {
		return nil, false, nil
	}
	switch s.Request {
	case requestGetDescriptor:
		if s.recipient() != recipientDevice {
			return nil, false, nil
		}
		reply, err = d.descriptor(s)
		return reply, true, err
	case getStatus:
		return []byte{0, 0}, true, nil
	case getConfiguration:
		return []byte{1}, true, nil
	case getInterface:
		return []byte{d.alternateOf(s.iface())}, true, nil
	case setInterface:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.alternate[s.iface()] = s.number()
		return nil, true, nil
	case setConfiguration, setFeature, clearFeature:
		return nil, true, nil
	}
	return nil, true, errStall
}

func (d *standardDevice) descriptor(s Setup) ([]byte, error) {
	switch s.selector() {
	case descriptorDevice:
		return d.device, nil
	case descriptorConfiguration:
		return d.configuration, nil
	case descriptorQualifier:
		return d.qualifier, nil
	case descriptorString:
		if s.number() == 0 {
			return []byte{4, descriptorString, 0x09, 0x04}, nil // the languages: English
		}
		if n := int(s.number()); n < len(d.strings) && d.strings[n] != "" {
			return stringDescriptor(d.strings[n]), nil
		}
	}
	return nil, errStall
}

// alternateOf is the alternate setting that the host has chosen for an interface.
func (d *standardDevice) alternateOf(iface uint8) uint8 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.alternate[iface]
}
