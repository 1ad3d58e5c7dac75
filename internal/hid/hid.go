// Package hid reads flags off the reports of HID devices, by the rules of a catalogue. It is
// pure: what devices send comes in as events with their time, what has become known goes out as
// readings, and what is to be asked of a device as requests. The bytes travel elsewhere.
package hid

import (
	"fmt"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Device is one HID interface of a device, as the OS describes it. A headset often has several:
// buttons, telephony, the vendor's own.
type Device struct {
	Node       string      `json:"node"`                // the OS's name of it, unique while it is attached: hidraw3
	Bus        devices.Bus `json:"bus,omitempty"`       // usb or bluetooth; empty: another
	VID        string      `json:"vid"`                 // 4 lower-case hex digits
	PID        string      `json:"pid"`                 // 4 lower-case hex digits
	Serial     string      `json:"serial,omitempty"`    // as the device gives it; the address for Bluetooth
	Container  string      `json:"container,omitempty"` // same value as the audio endpoints of the same physical device have
	Interface  int         `json:"interface"`           // number of the USB interface; -1: none
	Name       string      `json:"name,omitempty"`      // what the device calls itself
	Descriptor Bytes       `json:"descriptor"`          // its report descriptor (HID 1.11, section 6.2.2)
}

// String names the device for people: "hidraw3 (Acme Headset 700, 1209:0700)".
func (d Device) String() string {
	if d.Name == "" {
		return fmt.Sprintf("%s (%s:%s)", d.Node, d.VID, d.PID)
	}
	return fmt.Sprintf("%s (%s, %s:%s)", d.Node, d.Name, d.VID, d.PID)
}

// EventKind is what an Event is about.
type EventKind string

// What may happen to a device.
const (
	Attached EventKind = "attached" // it is there and can be read; a device that was there before starts anew
	Denied   EventKind = "denied"   // it is there and cannot be read: Error says why
	Gone     EventKind = "gone"     // it is not there any more, or its reading has failed: Error, if any, says why
	Report   EventKind = "report"   // it has sent an input report
	Lost     EventKind = "lost"     // it may have sent reports that did not arrive
	Answer   EventKind = "answer"   // what a Request to read a report has brought: the report, or Error
)

// Event is one thing that happened to a device.
type Event struct {
	Kind    EventKind         `json:"happening"`
	Node    string            `json:"node"`
	Device  *Device           `json:"device,omitempty"`  // Attached and Denied
	Plugged bool              `json:"plugged,omitempty"` // Attached: it was seen to arrive; false: it may have been there for long
	Data    Bytes             `json:"data,omitempty"`    // Report and Answer: as the OS gives it, its number first if it has one
	Request uint64            `json:"request,omitempty"` // Answer: the ID of the request
	Error   string            `json:"error,omitempty"`
	Reason  *health.Condition `json:"reason,omitempty"` // Denied: behind Error
	At      time.Time         `json:"at,omitzero"`      // when it happened
}

// Request is what a rule wants sent to a device. It is sent as soon as possible, and those of
// one device in their order.
type Request struct {
	ID   uint64 // stands in the Answer
	Node string
	// Output, if not empty, is an output report to write, its number first (0 where reports have
	// none). An answer to it, if any, arrives as an input report.
	Output []byte
	// Feature, if not empty, is a feature report: its number and, if there is more, what to set it to first.
	// The report is then read, and arrives as an Answer; with Length 0 it is only set, and comes back as it was sent.
	Feature []byte
	// Input, if not empty, is the number of an input report to read, which arrives as an Answer.
	Input []byte
	// LastOutput, if not empty, is the number of an output report to read back, which arrives as an Answer.
	LastOutput []byte
	// Length is how many bytes of the report to read, its number included.
	Length int
}
