package fakeusb

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
)

// A PhoneMute is how a headset's telephony interface reports that its mute button was pressed. HID has three ways (HID Usage
// Tables, "On/Off Control").
type PhoneMute string

// The ways. An empty PhoneMute means PhoneMuteMomentary.
const (
	// PhoneMuteMomentary is a button: relative, with a preferred state, 0..1. A press is 1 and then 0, and says nothing about
	// the state.
	PhoneMuteMomentary PhoneMute = "momentary"
	// PhoneMuteLevel is a switch that stays where it is put: absolute, without a preferred state, 0..1. Each report carries it.
	PhoneMuteLevel PhoneMute = "level"
	// PhoneMuteTwoButtons is a button to mute and another to unmute: relative, without a preferred state, -1..1. A press is
	// 1 or -1, and then 0.
	PhoneMuteTwoButtons PhoneMute = "two_buttons"
)

// The telephony interface of a headset: its buttons as a call-control application sees them.
//
//	input report 1:  bit 0 hook switch, bits 1 and 2 phone mute (two's complement for two buttons, else bit 2 is 0)
//	output report 1: bit 0 off-hook lamp, bit 1 mute lamp, bit 2 ring lamp
//	feature report 2: one byte of settings, which have no effect
type telephony struct {
	encoding PhoneMute
	reports  interruptQueue

	mu       sync.Mutex
	level    uint8 // the position of the switch of PhoneMuteLevel, as in its reports
	lamps    uint8
	settings uint8
	requests []string
}

// HID 1.11: class codes and requests.
const (
	classHID = 0x03

	hidGetReport = 0x01
	hidSetReport = 0x09
	hidSetIdle   = 0x0a

	hidInput   = 1
	hidOutput  = 2
	hidFeature = 3
)

// The reports of the interface by number.
const (
	telephonyReportID = 1 // input and output
	settingsReportID  = 2 // feature
)

// phoneMuteBit is bit 1 of the input report.
const phoneMuteBit = 1 << 1

func newTelephony(encoding PhoneMute) (*telephony, error) {
	encoding = cmp.Or(encoding, PhoneMuteMomentary)
	if all := []PhoneMute{PhoneMuteMomentary, PhoneMuteLevel, PhoneMuteTwoButtons}; !slices.Contains(all, encoding) {
		return nil, fmt.Errorf("unknown phone mute %q: %s, %s or %s", encoding, all[0], all[1], all[2])
	}
	return &telephony{encoding: encoding, reports: newInterruptQueue()}, nil
}

// descriptor is the report descriptor (HID 1.11, 6.2.2), one item a line.
func (t *telephony) descriptor() []byte {
	return slices.Concat(
		[]byte{
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
		},
		t.phoneMute(),
		[]byte{
			0x75, 0x01, // report size 1
			0x95, 0x05, // report count 5
			0x81, 0x03, // input: constant
			0x05, 0x08, // usage page LEDs
			0x15, 0x00, // logical minimum 0
			0x95, 0x03, // report count 3
			0x09, 0x17, // usage off-hook
			0x09, 0x09, // usage mute
			0x09, 0x18, // usage ring
			0x91, 0x22, // output: data, variable, absolute, no preferred state
			0x95, 0x05, // report count 5
			0x91, 0x03, // output: constant
			0x06, 0x00, 0xff, // usage page vendor-defined
			0x85, settingsReportID,
			0x75, 0x08, // report size 8
			0x95, 0x01, // report count 1
			0x09, 0x01, // usage 1
			0xb1, 0x02, // feature: data, variable, absolute
			0xc0, // end collection
		},
	)
}

// phoneMute is the part of the descriptor in which the encodings differ. It describes two bits in each of them.
func (t *telephony) phoneMute() []byte {
	oneBitOf := func(input uint8) []byte {
		return []byte{
			0x09, 0x2f, // usage phone mute
			0x81, input,
			0x81, 0x03, // input: constant
		}
	}
	switch t.encoding {
	case PhoneMuteLevel:
		return oneBitOf(0x22) // data, variable, absolute, no preferred state
	case PhoneMuteTwoButtons:
		return []byte{
			0x15, 0xff, // logical minimum -1
			0x75, 0x02, // report size 2
			0x09, 0x2f, // usage phone mute
			0x81, 0x26, // input: data, variable, relative, no preferred state
		}
	default:
		return oneBitOf(0x06) // data, variable, relative
	}
}

func (t *telephony) interfaceDescriptors() []byte {
	report := len(t.descriptor())
	return []byte{
		9, descriptorInterface, headsetTelephony, 0, 1, classHID, 0, 0, 0,
		9, descriptorHID, 0x11, 0x01, 0, 1, descriptorHIDReport, uint8(report), uint8(report >> 8), // HID 1.11, one report descriptor
		7, descriptorEndpoint, endpointTelephony | endpointIn, interrupt, 8, 0, 4,
	}
}

// press moves the switch to on, or presses the button that goes there, and releases it. A momentary button ignores on.
func (t *telephony) press(on bool) error {
	pressed := []byte{telephonyReportID, phoneMuteBit}
	switch t.encoding {
	case PhoneMuteLevel:
		t.mu.Lock()
		t.level = map[bool]uint8{true: phoneMuteBit}[on]
		now := t.inputReport()
		t.mu.Unlock()
		return t.reports.push(now)
	case PhoneMuteTwoButtons:
		if !on {
			pressed[1] = 3 * phoneMuteBit // -1
		}
	}
	if err := t.reports.push(pressed); err != nil {
		return err
	}
	return t.reports.push([]byte{telephonyReportID, 0})
}

// inputReport is what the interface would report now. The caller holds mu.
func (t *telephony) inputReport() []byte { return []byte{telephonyReportID, t.level} }

func (t *telephony) control(s Setup, data []byte) ([]byte, error) {
	if s.standard() {
		if s.Request == requestGetDescriptor && s.selector() == descriptorHIDReport {
			return t.descriptor(), nil
		}
		return nil, errStall
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch s.Request {
	case hidSetIdle:
		return nil, nil
	case hidGetReport:
		t.requests = append(t.requests, fmt.Sprintf("get %s %02x", reportType(s.selector()), s.number()))
		return t.get(s.selector(), s.number())
	case hidSetReport:
		t.requests = append(t.requests, fmt.Sprintf("set %s %s", reportType(s.selector()), hex.EncodeToString(data)))
		return nil, t.set(s.selector(), data)
	}
	return nil, errStall
}

func (t *telephony) get(kind, number uint8) ([]byte, error) {
	switch {
	case kind == hidInput && number == telephonyReportID:
		return t.inputReport(), nil
	case kind == hidFeature && number == settingsReportID:
		return []byte{settingsReportID, t.settings}, nil
	}
	return nil, errStall
}

func (t *telephony) set(kind uint8, report []byte) error {
	if len(report) != 2 {
		return errStall
	}
	switch {
	case kind == hidOutput && report[0] == telephonyReportID:
		t.lamps = report[1]
	case kind == hidFeature && report[0] == settingsReportID:
		t.settings = report[1]
	default:
		return errStall
	}
	return nil
}

var reportTypes = map[uint8]string{hidInput: "input", hidOutput: "output", hidFeature: "feature"}

func reportType(kind uint8) string { return cmp.Or(reportTypes[kind], fmt.Sprintf("type%d", kind)) }

// heard returns what the host has sent so far: the lamps that it wants lit, and all its requests.
func (t *telephony) heard() (lamps uint8, requests []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lamps, slices.Clone(t.requests)
}
