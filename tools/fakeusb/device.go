// Package fakeusb emulates USB devices in user space, so that the kernel's own drivers and everything above them can be
// tested for real on a machine that has no such hardware.
//
// An emulated device is plugged into the kernel's virtual USB host controller (module vhci_hcd) and speaks the USB/IP
// protocol with it over a socket pair. There are two: a headset (USB Audio Class 1 with a HID telephony interface) and a
// camera (USB Video Class 1.1). A [Bench] plugs and operates them by name; cmd/fakeusbd serves a Bench to other processes.
//
// The emulation must not run in the process that uses the devices: a process that dies while it both emulates a device and
// holds it open can never end, because the kernel waits for an answer of the device.
package fakeusb

import (
	"context"
	"encoding/binary"
	"errors"
)

// Speed is a USB bus speed, numbered as the kernel does.
type Speed uint32

// The speeds that the emulated devices use.
const (
	FullSpeed Speed = 2 // 12 Mbit/s
	HighSpeed Speed = 3 // 480 Mbit/s
)

// errStall is a device's way to say no: the request is not supported. The kernel sees a stalled endpoint.
var errStall = errors.New("request stalled")

// A Device is one emulated USB device. Its methods are called from several goroutines.
type Device interface {
	Speed() Speed

	// Control answers a request on endpoint 0. A request towards the host returns the reply, one towards the device gets
	// its payload as data. An error stalls the request.
	Control(setup Setup, data []byte) ([]byte, error)

	// In waits until endpoint has something to send and returns it: one packet for bulk and interrupt transfers, exactly
	// transfer.Packets packets for isochronous ones. It is called for one transfer of an endpoint at a time.
	In(ctx context.Context, transfer Transfer) ([][]byte, error)

	// Out takes the data of a transfer towards the device, in the time the device needs for it.
	Out(ctx context.Context, transfer Transfer, data []byte) error
}

// A Transfer is one request of the host on an endpoint other than 0.
type Transfer struct {
	Endpoint uint8 // number without the direction bit
	Length   int   // bytes that the host sends, or at most takes
	Packets  int   // isochronous packets, each one frame (1 ms) long; 0 for other transfers
}

// Setup is the packet that opens every control request (USB 2.0, table 9-2).
type Setup struct {
	RequestType uint8
	Request     uint8
	Value       uint16
	Index       uint16
	Length      uint16
}

func parseSetup(packet [8]byte) (s Setup) {
	_, _ = binary.Decode(packet[:], binary.LittleEndian, &s) // the packet has the struct's size
	return s
}

// The two parts of Setup.RequestType that the devices tell apart.
const (
	requestTypeMask      = 0x60 // standard, class or vendor
	requestTypeStandard  = 0x00
	recipientMask        = 0x1f
	recipientDevice      = 0x00
	recipientInterface   = 0x01
	requestGetDescriptor = 6
)

func (s Setup) standard() bool { return s.RequestType&requestTypeMask == requestTypeStandard }

func (s Setup) recipient() uint8 { return s.RequestType & recipientMask }

// selector is what is asked for: a descriptor type or, in class requests, a control selector.
func (s Setup) selector() uint8 { return uint8(s.Value >> 8) }

// number is the descriptor's index, the alternate setting or the like.
func (s Setup) number() uint8 { return uint8(s.Value) }

// iface is the interface that a request to an interface is for.
func (s Setup) iface() uint8 { return uint8(s.Index) }

// entity is the unit or terminal that a class request to an interface is for.
func (s Setup) entity() uint8 { return uint8(s.Index >> 8) }
