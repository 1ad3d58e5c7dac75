//go:build linux

// Package fakehid creates HID devices in the kernel through /dev/uhid, so that what reads them can be tested for real on a
// machine that has none. Above the transport they are devices like any other: the kernel parses their descriptor, binds a
// driver, makes a hidraw node and tells udev. They belong to no USB or Bluetooth device, whatever bus they claim.
//
// It needs the kernel module uhid and write access to /dev/uhid, which usually means root. A device lives as long as the
// process that created it.
package fakehid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// A Bus is what a device says it is attached to, numbered as the kernel does.
type Bus uint16

// The buses that HID devices usually have.
const (
	USB       Bus = 0x03
	Bluetooth Bus = 0x05
)

// Options describe a device.
type Options struct {
	Bus             Bus // USB if zero
	Vendor, Product uint16
	Name            string // at most 127 bytes, as the kernel has room for
	Phys            string // where it is plugged in, at most 63 bytes
	Uniq            string // serial number, or address for Bluetooth; at most 63 bytes
	Descriptor      []byte // report descriptor, at most 4096 bytes

	// Answer, if not nil, answers the host's requests of the kinds Get and Set, one at a time. The reply to Get is the report,
	// with its number first if the device numbers its reports; the reply to Set is not used. An error reaches the host as
	// EIO, as does every request without Answer. The host waits for at most five seconds. Answer must not call Destroy.
	Answer func(Request) ([]byte, error)
}

// A Request is something that the host has sent to the device, or has asked it for.
type Request struct {
	Kind   Kind
	Type   ReportType
	Number byte   // of the report; 0 where reports have no numbers
	Report []byte // what was sent, as the host wrote it: with the number first; empty for Get
}

// A Kind is what a Request wants.
type Kind string

// The kinds.
const (
	Output Kind = "output" // takes an output report, without an answer
	Get    Kind = "get"    // asks for a report
	Set    Kind = "set"    // takes a report and waits for the answer
)

// A ReportType is one of the three types of HID reports, numbered as the kernel does.
type ReportType uint8

// The types.
const (
	FeatureReport ReportType = 0
	OutputReport  ReportType = 1
	InputReport   ReportType = 2
)

// startTimeout bounds how long the kernel may take to bind a driver to a new device. It may have to load one.
const startTimeout = 30 * time.Second

// A Device is a HID device that the kernel knows. Its methods may be called from several goroutines.
type Device struct {
	kernel  io.ReadWriteCloser
	answer  func(Request) ([]byte, error)
	start   func()        // called when a driver has taken the device
	done    chan struct{} // closed when serve has ended
	failure error         // why, valid after done

	mu       sync.Mutex
	requests []Request
}

// Create makes a device and waits until a driver has taken it. Its hidraw node exists then or appears in a moment; sysfs
// shows it with the properties in Options. Destroy removes it.
func Create(o Options) (*Device, error) { return createIn("/dev/uhid", o) }

func createIn(uhid string, o Options) (*Device, error) {
	kernel, err := os.OpenFile(uhid, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("create a hid device (needs the module uhid and write access): %w", err)
	}
	return create(kernel, o, startTimeout)
}

// create talks to kernel, one event per read or write, and closes it at the end.
func create(kernel io.ReadWriteCloser, o Options, timeout time.Duration) (*Device, error) {
	event, err := encodeCreate(o)
	if err == nil {
		_, err = kernel.Write(event)
	}
	if err != nil {
		kernel.Close()
		return nil, fmt.Errorf("create hid device %q: %w", o.Name, err)
	}
	if o.Answer == nil {
		o.Answer = func(Request) ([]byte, error) { return nil, errors.New("the device answers nothing") }
	}
	started := make(chan struct{})
	d := &Device{kernel: kernel, answer: o.Answer, start: sync.OnceFunc(func() { close(started) }), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.failure = d.serve()
	}()
	select {
	case <-started:
		return d, nil
	case <-d.done:
		err = d.failure
	case <-time.After(timeout):
		err = fmt.Errorf("no driver has taken it in %v: is hid_generic loaded, and its descriptor right?", timeout)
	}
	kernel.Close()
	<-d.done
	return nil, fmt.Errorf("create hid device %q: %w", o.Name, err)
}

// Send sends an input report, with its number first if the device numbers its reports.
func (d *Device) Send(report []byte) error {
	if len(report) > maxReport {
		return fmt.Errorf("send an input report: it has %d bytes, at most %d are possible", len(report), maxReport)
	}
	if _, err := d.kernel.Write(append(encode(uint32(eventInput), uint16(len(report))), report...)); err != nil {
		return fmt.Errorf("send an input report: %w", err)
	}
	return nil
}

// Requests returns all that the host has sent and asked for so far, oldest first.
func (d *Device) Requests() []Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests)
}

// Destroy removes the device, as pulling its plug does: readers of its node get an error. It returns why the device has
// failed before, if it has. It may be called again, and then returns the same.
func (d *Device) Destroy() error {
	// The kernel destroys the device when its file is closed; that is also what ends serve.
	if err := d.kernel.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("destroy a hid device: %w", err)
	}
	<-d.done
	return d.failure
}

// serve takes the kernel's events until the file is closed.
func (d *Device) serve() error {
	event := make([]byte, eventSize)
	for {
		n, err := d.kernel.Read(event)
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read an event of a hid device: %w", err)
		}
		reply, err := d.take(event[:n])
		if err == nil && reply != nil {
			_, err = d.kernel.Write(reply)
		}
		if err != nil && !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("answer an event of a hid device: %w", err)
		}
	}
}

// take handles one event and returns the reply to it, if there has to be one.
func (d *Device) take(event []byte) ([]byte, error) {
	if len(event) < typeSize {
		return nil, fmt.Errorf("an event has %d bytes", len(event))
	}
	switch kind := binary.NativeEndian.Uint32(event); kind {
	case eventStart:
		d.start() // a second time if another driver takes the device over
	case eventOutput, eventGetReport, eventSetReport:
		id, r, err := decodeRequest(kind, event[typeSize:])
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		d.requests = append(d.requests, r)
		d.mu.Unlock()
		if kind == eventOutput {
			return nil, nil
		}
		report, err := d.answer(r)
		return encodeReply(kind, id, report, err), nil
	}
	return nil, nil // the host opens and closes the device as it likes
}
