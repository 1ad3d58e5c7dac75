// Package hidio opens HID devices, reads what they send and sends what they are asked. What a system has to offer for that is
// a backend.
package hidio

import (
	"sidetone/internal/hid"
	"sidetone/internal/platform"
)

// Devices are the HID devices of this machine. It opens those that are wanted, for
// reading only and beside whoever else reads them, and hands on what happens to them. What it
// may not open is in its notes. While nothing happens it costs nothing.
//
// Its callback gets the events of one device one after another and in their order, those of
// several devices side by side. It may take its time, but meanwhile that device is not read, and
// Read and Close wait for it: it must return when the program ends, and not call Read or Close.
type Devices interface {
	platform.Reader
	platform.Annotator
	// Want sets another rule for which devices to open, from the next Read on, and makes one
	// due: what is no longer wanted is then Gone, and what is newly wanted Attached or Denied.
	// It does not block.
	Want(want func(hid.Device) bool)
	// Send queues a request for its device, and drops it if that one is not attached. It does
	// not block, and r's bytes must not be changed any more. What cannot be done is answered
	// with an Error, output reports too; of a flood of requests some are dropped unanswered.
	Send(r hid.Request)
}
