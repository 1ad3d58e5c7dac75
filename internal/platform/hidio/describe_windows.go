package hidio

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
	platformwindows "sidetone/internal/platform/windows"
)

const (
	// describeTimeout is how long a device may take to tell its name, if its bus has not asked for it. Only one that is wanted is asked.
	describeTimeout = time.Second
	// maxString is the maximum length of a string on Windows, in bytes.
	maxString = 4092
	// arrivalTime is how long after a USB device was connected its interfaces may appear, as on Linux.
	arrivalTime = 30 * time.Second
)

// information is HID_COLLECTION_INFORMATION.
type information struct {
	Size              uint32 // of the preparsed data
	_                 [2]byte
	VID, PID, Version uint16
}

// identify returns what Windows stores about what is behind a path. Neither the device nor its driver is asked.
func identify(i platformwindows.Interface) (k described) {
	k.path, k.instance, k.parent = i.Path, i.Instance, cmp.Or(platformwindows.Parent(i.Instance), i.Instance)
	of := platformwindows.PropertiesOf(k.parent)
	k.hardware = platformwindows.Identify(k.parent, platformwindows.Parent)
	k.vid, k.pid, k.container, k.name = k.hardware.VID, k.hardware.PID, of.Container, of.Reported
	k.plugged = k.hardware.Bus != devices.USB || wasUnpowered(k.parent)
	return k
}

// describe adds what is known of a collection only by opening it. It asks the driver, and never the device.
func describe(k described) (described, error) {
	file, err := openPath(k.path, 0) // to ask the driver only, which works even if another program has exclusive access
	if err != nil {
		return described{}, err
	}
	defer windows.CloseHandle(file)
	var info information
	b := make([]byte, binary.Size(info))
	if _, err := ask(file, 0, transferTimeout, getCollectionInformation, nil, b); err != nil {
		return described{}, fmt.Errorf("what %s is cannot be read: %w", k.instance, err)
	}
	if _, err := binary.Decode(b, binary.LittleEndian, &info); err != nil {
		return described{}, err
	}
	k.vid, k.pid, k.version = fmt.Sprintf("%04x", info.VID), fmt.Sprintf("%04x", info.PID), fmt.Sprintf("%04x", info.Version)
	preparsed, err := readPreparsed(file, info.Size)
	if err == nil {
		k.Preparsed, err = descriptor.ParsePreparsed(preparsed)
	}
	if k.Lengths == nil { // without them its reports cannot be read; it is asked again later
		return described{}, fmt.Errorf("what %s sends cannot be read: %w", k.instance, err)
	}
	return k, nil
}

func readPreparsed(file windows.Handle, size uint32) ([]byte, error) {
	b := make([]byte, size)
	n, err := ask(file, 0, transferTimeout, getCollectionDescriptor, nil, b)
	return b[:n], err
}

// productString asks the device for its product name; "" if it does not answer.
func productString(file windows.Handle) string {
	b := make([]uint16, maxString/2)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), maxString)
	if _, err := ask(file, 0, describeTimeout, getProductString, nil, bytes); err != nil {
		return ""
	}
	return windows.UTF16ToString(b)
}

// wasUnpowered reports whether the USB device with an instance id, or with that of an interface, surely had no power until it arrived, as
// on Linux: not if it has been connected for longer than its interfaces take to appear, if the hub above it came with it, or if Windows
// does not know.
func wasUnpowered(instance string) bool {
	if interfaceID.MatchString(instance) {
		instance = platformwindows.Parent(instance)
	}
	device := platformwindows.PropertiesOf(instance)
	hub := platformwindows.PropertiesOf(device.Parent)
	return !device.Arrived.IsZero() && !hub.Arrived.IsZero() &&
		time.Since(device.Arrived) < arrivalTime && device.Arrived.Sub(hub.Arrived) >= arrivalTime
}
