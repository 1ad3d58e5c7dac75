// Package hidio opens HID devices, reads what they send and sends them requests. Each system has a backend for that.
package hidio

import (
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
	platform.Reader
	platform.Annotator
	// Want replaces the rule for which devices to open, effective from the next Read, and makes one due: devices that are no longer
	// wanted are then Gone, newly wanted ones Attached or Denied. It does not block.
	Want(want func(hid.Device) bool)
	// Send queues a request, or drops it if its device is not attached. It does not block, and r's bytes must not be changed afterwards.
	// A request that fails is answered with an Error, even for an output report; of a flood of requests some are dropped without an
	// answer.
	Send(r hid.Request)
}
