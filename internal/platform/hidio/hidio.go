// Package hidio opens HID devices, reads what they send and sends them requests. Each system has a backend for that.
package hidio

import (
	"errors"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
)

// Devices are the HID devices of this machine. It opens those that are wanted, for reading only and beside other readers, and reports
// their events. Its notes name those that it may not open. While nothing happens it costs nothing.
//
// The callback gets the events of one device one at a time and in order, those of several devices concurrently. It may take its time, but
// that device is not read meanwhile, and Read and Close wait for it: it must return when the program ends, and must not call Read or
// Close.
type Devices interface {
	platform.Source
	// Want replaces what decides which devices to open, effective from the next Read, and makes one due: devices that are no longer
	// wanted are then Gone, newly wanted ones Attached or Denied. It does not block.
	Want(Wanted)
	// Send queues a request, or drops it if its device is not attached. It does not block, and r's bytes must not be changed afterwards.
	// A request that fails is answered with an Error, even for an output report; of a flood of requests some are dropped without an
	// answer.
	Send(r hid.Request)
	// Look has all queues of reports looked at now: the next report of a device that has been silent is then known to have been sent
	// since. It does not block.
	Look()
}

// Wanted decides which devices are opened.
type Wanted interface {
	// Knows reports whether a device may be wanted, by what a system knows of it without asking its driver, as Windows has to for more: its
	// bus, VID and PID, which may be empty, and the number of its interface. Nothing else of it is valid yet.
	Knows(hid.Device) bool
	// Wants decides with all that is known of a device without reading it. It wants none that it does not know.
	Wants(hid.Device) bool
}

// Any knows every device, and wants those of which it is true.
type Any func(hid.Device) bool

// Knows implements Wanted.
func (Any) Knows(hid.Device) bool { return true }

// Wants implements Wanted.
func (wants Any) Wants(d hid.Device) bool { return wants(d) }

// backend is what an OS offers of its HID devices. newBackend, in each system's file, returns it; the manager does the rest.
type backend interface {
	// list returns the present devices, always in the same order. Of those that are not known it need not find out more than that.
	list(known func(hid.Device) bool) ([]entry, error)
	// path returns how people find a node.
	path(node string) string
	// open opens a node for reading, beside other readers. It may hang. The error is errBusy if another program has exclusive access.
	open(node string) (connection, error)
	// backlog is how many reports the OS queues for a reader. It drops what comes while the queue is full.
	backlog() int
	// watch calls changed, which does not block, when list or open may have a new outcome, until close. If that is known to concern one
	// node, it calls announce first. unwatched returns what cannot be watched.
	watch(announce func(node string), changed func())
	unwatched() []health.Condition
	close() error
}

var errBusy = errors.New("another program keeps it to itself")

// presenceID identifies one presence of a device, so that the next device with the same node has another id. It is comparable.
type presenceID any

// entry is a device as the OS lists it.
type entry struct {
	id         presenceID
	device     hid.Device
	plugged    bool          // if it is new: it surely had no power before
	unreadable *health.Error // why it could not be read: only device.Node is valid then
}

// connection is an open device.
type connection interface {
	// channels are the queues in which the OS keeps the device's reports.
	channels() []channel
	// amend returns the device with what is known only now that it is open. Of its descriptor it leaves only what is open.
	amend(hid.Device) hid.Device
	// refused are the parts of the device that could not be opened. openRest tries these alone again; it may hang, and its error means that
	// no more is open than before.
	refused() []refusal
	openRest() error
	// request performs a request and returns the report, if one is to be read. It may hang, and is not called again meanwhile.
	request(hid.Request) (report []byte, err error)
	// close ends all reading. It may wait until the OS has finished a request.
	close() error
}

// refusal is why a part of a device is not open.
type refusal struct {
	part string // for people
	err  error
}

// whole is a connection to a device that is open as a whole, and known before.
type whole struct{}

func (whole) amend(d hid.Device) hid.Device { return d }
func (whole) refused() []refusal            { return nil }
func (whole) openRest() error               { return nil }

// channel is a queue of reports. One goroutine reads it.
type channel interface {
	// read waits for a report until a time, unless that is zero; the error is then os.ErrDeadlineExceeded. Whenever it finds none waiting
	// it calls empty, with a time before it looked.
	read(report []byte, until time.Time, empty func(at time.Time)) (n int, err error)
	// interrupt ends a read that waits, with os.ErrDeadlineExceeded. Another goroutine may call it at any time.
	interrupt()
}
