package fakeusb

import "sync"

// The telephony interface of a headset: its buttons as a call-control application sees them.
//
//	input report 1:  bit 0 hook switch, bit 1 phone mute (relative: 1 is one press)
//	output report 1: bit 0 off-hook lamp, bit 1 mute lamp, bit 2 ring lamp
type telephony struct {
	reports interruptQueue

	mu    sync.Mutex
	lamps uint8
}

// HID 1.11: class codes and requests.
const (
	classHID = 0x03

	hidGetReport = 0x01
	hidSetReport = 0x09
	hidSetIdle   = 0x0a
)

// telephonyReportID is the only report of the interface, in both directions.
const telephonyReportID = 1

// telephonyReport is the report descriptor (HID 1.11, 6.2.2), one item a line.
var telephonyReport = []byte{
	0x05, 0x0b, // usage page telephony
	0x09, 0x05, // usage headset
	0xa1, 0x01, // collection application
	0x85, telephonyReportID,
	0x15, 0x00, // logical minimum 0
	0x25, 0x01, // logical maximum 1
	0x75, 0x01, // report size 1
	0x95, 0x01, // report count 1
	0x09, 0x20, // usage hook switch
	0x81, 0x02, // input: data, variable, absolute
	0x09, 0x2f, // usage phone mute
	0x81, 0x06, // input: data, variable, relative
	0x95, 0x06, // report count 6
	0x81, 0x03, // input: constant
	0x05, 0x08, // usage page LEDs
	0x95, 0x03, // report count 3
	0x09, 0x17, // usage off-hook
	0x09, 0x09, // usage mute
	0x09, 0x18, // usage ring
	0x91, 0x22, // output: data, variable, absolute, no preferred state
	0x95, 0x05, // report count 5
	0x91, 0x03, // output: constant
	0xc0, // end collection
}

type hidFields struct {
	Version      uint16
	Country      uint8
	Descriptors  uint8
	ReportType   uint8
	ReportLength uint16
}

func telephonyInterface() []byte {
	return concat(
		descriptor(descriptorInterface, interfaceFields{Number: headsetTelephony, Endpoints: 1, Class: classHID}),
		descriptor(descriptorHID, hidFields{
			Version: 0x0111, Descriptors: 1, ReportType: descriptorHIDReport, ReportLength: uint16(len(telephonyReport)),
		}),
		descriptor(descriptorEndpoint, endpointFields{
			Address: endpointTelephony | endpointIn, Attributes: interrupt, MaxPacket: 8, Interval: 4,
		}),
	)
}

func (t *telephony) control(s Setup, data []byte) ([]byte, error) {
	if s.standard() {
		if s.Request == requestGetDescriptor && s.selector() == descriptorHIDReport {
			return telephonyReport, nil
		}
		return nil, errStall
	}
	switch s.Request {
	case hidGetReport:
		return []byte{telephonyReportID, 0}, nil
	case hidSetIdle:
		return nil, nil
	case hidSetReport:
		if len(data) != 2 || data[0] != telephonyReportID {
			return nil, errStall
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lamps = data[1]
		return nil, nil
	}
	return nil, errStall
}

// lit is the last output report: the lamps that the host wants lit.
func (t *telephony) lit() uint8 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lamps
}
