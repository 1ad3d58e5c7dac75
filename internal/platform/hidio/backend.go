package hidio

import (
	"errors"

	"sidetone/internal/health"
	"sidetone/internal/hid"
)

// backend is what an OS offers of its HID devices. newBackend, in each system's file, returns it; the manager does the rest.
type backend interface {
	// list returns the present devices, always in the same order.
	list() ([]entry, error)
	// path returns how people find a node.
	path(node string) string
	// open opens a node for reading, beside other readers. It may hang. The error is errBusy if another program has exclusive access.
	open(node string) (connection, error)
	// backlog is how many reports the OS queues for a reader. It drops what comes while the queue is full.
	backlog() int
	// isUnplugged reports whether a read error means that the device is gone.
	isUnplugged(err error) bool
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
	plugged    bool          // if it is new: it was plugged in, and not just bound to its driver again
	unreadable *health.Error // why it could not be read: only device.Node is valid then
}

// connection is an open device.
type connection interface {
	// read waits for a report. It calls drained whenever it finds none waiting.
	read(report []byte, drained func()) (n int, err error)
	// request performs a request and returns the report, if one is to be read. It may hang, and is not called again meanwhile.
	request(hid.Request) (report []byte, err error)
	// close ends read. It may wait until the OS has finished a request.
	close() error
}
