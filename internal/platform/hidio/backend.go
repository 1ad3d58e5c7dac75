package hidio

import (
	"errors"

	"sidetone/internal/health"
	"sidetone/internal/hid"
)

// backend is what an OS has to offer of its HID devices. newBackend, of each system's file, returns it; the manager does the rest.
type backend interface {
	// list returns the devices that are there, always in the same order.
	list() ([]entry, error)
	// path is where people find a node.
	path(node string) string
	// open opens a node for reading, beside other readers. It may hang. The error is errBusy where another program lets nobody else read.
	open(node string) (connection, error)
	// backlog is how many reports the OS keeps for a reader. While there are so many it drops what comes.
	backlog() int
	// isUnplugged reports whether reading fails with err because the device is not there any more.
	isUnplugged(err error) bool
	// watch calls changed, which does not block, when list or open may have another outcome than before, until close; if that is known
	// to concern one node, announce before. What it cannot watch it says in unwatched.
	watch(announce func(node string), changed func())
	unwatched() []health.Condition
	close() error
}

var errBusy = errors.New("another program keeps it to itself")

// presenceID tells one presence of a device from the next one that gets the same node. It is comparable.
type presenceID any

// entry is a device as the OS lists it.
type entry struct {
	id      presenceID
	device  hid.Device
	plugged bool          // if it has just come: it was plugged in, so that not only its driver is new
	unclear *health.Error // why it cannot be told what it is: of device only the node is known
}

// connection is a device that is open.
type connection interface {
	// read waits for a report. It calls drained each time when it finds none waiting.
	read(report []byte, drained func()) (n int, err error)
	// request does what is asked and returns the report, if one is to be read. It may hang, and is not called while it does.
	request(hid.Request) (report []byte, err error)
	// close ends read. It may wait for the OS to finish a request.
	close() error
}
