// Package hid derives flags from the reports of HID devices, by the rules of a catalogue. It does no I/O:
// timestamped events come in; readings, and requests to devices, go out.
package hid

import (
	"cmp"
	"fmt"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Device is one HID interface of a device, as the OS describes it. A headset often has several:
// buttons, telephony, the vendor's own.
type Device struct {
	Node       string      `json:"node"`                // the OS's name for it, unique while it is attached: hidraw3
	Bus        devices.Bus `json:"bus,omitempty"`       // usb or bluetooth; empty: another
	VID        string      `json:"vid"`                 // 4 lower-case hex digits
	PID        string      `json:"pid"`                 // 4 lower-case hex digits
	Version    string      `json:"version,omitempty"`   // of its firmware: bcdDevice, 4 lower-case hex digits; empty: unknown
	Serial     string      `json:"serial,omitempty"`    // as reported by the device; for Bluetooth its address
	Container  string      `json:"container,omitempty"` // equal to that of the audio endpoints of the same physical device
	Interface  int         `json:"interface"`           // number of the USB interface; -1: none
	Name       string      `json:"name,omitempty"`      // as reported by the device
	Descriptor Bytes       `json:"descriptor"`          // its report descriptor (HID 1.11, section 6.2.2)
}

// String returns "hidraw3 (Acme Headset 700, 1209:0700)".
func (d Device) String() string {
	if d.Name == "" {
		return fmt.Sprintf("%s (%s:%s)", d.Node, d.VID, d.PID)
	}
	return fmt.Sprintf("%s (%s, %s:%s)", d.Node, d.Name, d.VID, d.PID)
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of event.
const (
	Attached EventKind = "attached" // it is present and can be read; replaces an earlier device of this node
	Denied   EventKind = "denied"   // it is present and cannot be read: Error says why
	Failed   EventKind = "failed"   // reading it has failed: Error says why. It is present until it is Gone
	Gone     EventKind = "gone"     // it was removed; in older recordings also: reading it has failed, if there is an Error
	Report   EventKind = "report"   // it has sent an input report
	Lost     EventKind = "lost"     // reports may have been lost
	Answer   EventKind = "answer"   // the result of a Request to read a report: the report, or Error
)

// Event is one thing that happened to a device.
type Event struct {
	Kind    EventKind         `json:"happening"`
	Node    string            `json:"node"`
	Device  *Device           `json:"device,omitempty"`  // Attached and Denied
	Plugged bool              `json:"plugged,omitempty"` // Attached: its arrival was observed; false: it may have been there for long
	Data    Bytes             `json:"data,omitempty"`    // Report and Answer: as delivered by the OS, its number first if it has one
	Request uint64            `json:"request,omitempty"` // Answer: the ID of the request
	Error   string            `json:"error,omitempty"`   // Gone, Failed and Answer: what went wrong; of older recordings also why it is Denied
	Reason  *health.Condition `json:"reason,omitempty"`  // Denied: why
	// Since is, for a Report, when the device's queue was last known to be empty before it: the report was sent between Since and At.
	// Zero: it was sent at At.
	Since time.Time `json:"since,omitzero"`
	At    time.Time `json:"at,omitzero"` // when it happened; of a Report: when it was read
	// Channel is, for a Report, the collection by which it came, on systems where each has a queue of its own (Windows): reports of
	// different channels may overtake each other.
	Channel int `json:"channel,omitempty"`
}

// Why returns why the device cannot be read, of a Denied or Failed.
func (e Event) Why() *health.Condition {
	if e.Reason != nil {
		return e.Reason
	}
	return new(health.Unnamed(cmp.Or(e.Error, "it cannot be read")))
}

// normalised returns the event with a time, and with a Since that is not after it.
func (e Event) normalised(now time.Time) Event {
	e.At = cmp.Or(e.At, now)
	if e.Since.IsZero() || e.Since.After(e.At) {
		e.Since = e.At
	}
	return e
}

// Request is a report to send to, or read from, a device. Requests are carried out at once, and those of
// one device in order.
type Request struct {
	ID   uint64 // repeated in the Answer
	Node string
	// Output, if not empty, is an output report to write, its number first (0 where reports have
	// none). An answer to it, if any, arrives as an input report.
	Output []byte
	// Feature, if not empty, is the number of a feature report, and optionally the data to set it to first.
	// The report is then read, and arrives as an Answer; with Length 0 it is only set, and the Answer is what was sent.
	Feature []byte
	// Input, if not empty, is the number of an input report to read, which arrives as an Answer.
	Input []byte
	// LastOutput, if not empty, is the number of an output report to read back, which arrives as an Answer.
	LastOutput []byte
	// Length is how many bytes of the report to read, its number included.
	Length int
}

// What says what is asked: feature 05.
func (r Request) What() string {
	switch {
	case len(r.Feature) > 0:
		return fmt.Sprintf("feature % x", r.Feature)
	case len(r.Input) > 0:
		return fmt.Sprintf("input % x", r.Input)
	case len(r.LastOutput) > 0:
		return fmt.Sprintf("last output % x", r.LastOutput)
	default:
		return fmt.Sprintf("output % x", r.Output)
	}
}
