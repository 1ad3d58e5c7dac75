package fakeusb

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unicode/utf16"
)

// Identity is what a device says about itself. Empty strings have no descriptor at all, as with many real devices that
// carry no serial number.
type Identity struct {
	Vendor, Product uint16
	Manufacturer    string
	Name            string // the product string
	Serial          string
}

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

const (
	usb20           = 0x0200
	deviceRelease   = 0x0110
	languageEnglish = 0x0409
	maxPacket0      = 64
	// maxStringUnits is what fits behind the two header bytes of a string descriptor, whose length is one byte.
	maxStringUnits = 126
)

// The descriptors are written as structs in wire order; descriptor puts the length and type bytes before them.
type (
	deviceFields struct {
		USBVersion                uint16
		Class, Subclass, Protocol uint8
		MaxPacket0                uint8
		Vendor, Product           uint16
		Release                   uint16
		Manufacturer, Name        uint8
		Serial                    uint8
		Configurations            uint8
	}
	qualifierFields struct {
		USBVersion                uint16
		Class, Subclass, Protocol uint8
		MaxPacket0                uint8
		Configurations            uint8
		_                         uint8
	}
	configurationFields struct {
		TotalLength uint16
		Interfaces  uint8
		Value       uint8
		Name        uint8
		Attributes  uint8
		MaxPower    uint8 // in units of 2 mA
	}
	interfaceFields struct {
		Number, Alternate         uint8
		Endpoints                 uint8
		Class, Subclass, Protocol uint8
		Name                      uint8
	}
	endpointFields struct {
		Address    uint8
		Attributes uint8
		MaxPacket  uint16
		Interval   uint8
	}
)

// deviceClass is the class triple of a whole device; the zero value means "see the interfaces".
type deviceClass struct{ class, subclass, protocol uint8 }

// encode puts fixed-size fields on the wire. It panics on anything else, a mistake that no input can cause.
func encode(fields ...any) []byte {
	var b []byte
	for _, field := range fields {
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, field); err != nil {
			panic(fmt.Sprintf("fakeusb: no wire form of %T: %v", field, err))
		}
	}
	return b
}

// descriptor encodes one descriptor.
func descriptor(kind uint8, fields ...any) []byte {
	const headerLen = 2
	body := encode(fields...)
	return append([]byte{uint8(headerLen + len(body)), kind}, body...)
}

// configuration puts the configuration's own descriptor before those of its interfaces.
func configuration(interfaces uint8, parts ...[]byte) []byte {
	const (
		busPowered = 0x80
		headerLen  = 9
	)
	body := concat(parts...)
	return concat(descriptor(descriptorConfiguration, configurationFields{
		TotalLength: uint16(headerLen + len(body)),
		Interfaces:  interfaces,
		Value:       1,
		Attributes:  busPowered,
		MaxPower:    50,
	}), body)
}

func concat(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func stringDescriptor(s string) []byte {
	return descriptor(descriptorString, utf16.Encode([]rune(s)))
}

// check refuses what a descriptor cannot hold.
func (i Identity) check() error {
	for _, s := range []string{i.Manufacturer, i.Name, i.Serial} {
		if err := checkString(s); err != nil {
			return err
		}
	}
	return nil
}

func checkString(s string) error {
	if units := len(utf16.Encode([]rune(s))); units > maxStringUnits {
		return fmt.Errorf("string %.20q... has %d utf-16 units, a usb string descriptor holds %d", s, units, maxStringUnits)
	}
	return nil
}

// standardDevice answers the standard requests, which are the same for all devices (USB 2.0, chapter 9).
type standardDevice struct {
	device        []byte
	qualifier     []byte
	configuration []byte
	strings       map[uint8]string

	mu        sync.Mutex
	alternate map[uint8]uint8 // alternate setting by interface
}

func newStandardDevice(id Identity, class deviceClass, config []byte, feature string) *standardDevice {
	texts := map[uint8]string{}
	number := func(n uint8, s string) uint8 {
		if s == "" {
			return 0
		}
		texts[n] = s
		return n
	}
	number(stringFeature, feature)
	return &standardDevice{
		device: descriptor(descriptorDevice, deviceFields{
			USBVersion: usb20,
			Class:      class.class, Subclass: class.subclass, Protocol: class.protocol,
			MaxPacket0: maxPacket0,
			Vendor:     id.Vendor, Product: id.Product,
			Release:        deviceRelease,
			Manufacturer:   number(stringManufacturer, id.Manufacturer),
			Name:           number(stringName, id.Name),
			Serial:         number(stringSerial, id.Serial),
			Configurations: 1,
		}),
		qualifier: descriptor(descriptorQualifier, qualifierFields{
			USBVersion: usb20,
			Class:      class.class, Subclass: class.subclass, Protocol: class.protocol,
			MaxPacket0:     maxPacket0,
			Configurations: 1,
		}),
		configuration: config,
		strings:       texts,
		alternate:     map[uint8]uint8{},
	}
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
			return descriptor(descriptorString, uint16(languageEnglish)), nil
		}
		if text, ok := d.strings[s.number()]; ok {
			return stringDescriptor(text), nil
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
