package hidio

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/platform/linux"
)

// maxDescriptor is the kernel's HID_MAX_DESCRIPTOR_SIZE.
const maxDescriptor = 4096

// identify identifies the sysfs entry at path; false if it is just going.
func identify(path string) (sysfsID, bool) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return sysfsID{}, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return sysfsID{}, false
	}
	return sysfsID{path, linux.Inode(info)}, true
}

// describe reads what the kernel knows of the device of a hidraw node with its sysfs entry at path.
func describe(path string) (hid.Device, error) {
	dir := filepath.Join(path, "device")
	text, err := os.ReadFile(filepath.Join(dir, "uevent"))
	if err != nil {
		return hid.Device{}, fmt.Errorf("what it is cannot be read: %w", err)
	}
	d, err := parseUevent(string(text))
	if err != nil {
		return hid.Device{}, err
	}
	d.Node, d.Interface, d.Descriptor = filepath.Base(path), -1, readDescriptor(filepath.Join(dir, "report_descriptor"))
	switch d.Bus {
	case devices.USB:
		if usb, ok := linux.USBParent(path); ok {
			d.Serial, d.Container, d.Interface = cmp.Or(usb.Serial, d.Serial), usb.Container, usbInterface(path)
			if usb.VID == d.VID && usb.PID == d.PID { // else that is its receiver
				d.Version = usb.Version
			}
		}
	case devices.Bluetooth: // its USB parent would be the adapter
		if d.Serial != "" {
			d.Container = "bluetooth:" + strings.ToLower(d.Serial)
		}
	}
	return d, nil
}

// arrivalTime is how long after a USB device was connected its HID interfaces may appear: it must be authorized and its drivers loaded,
// even on a slow machine.
const arrivalTime = 30 * time.Second

// justConnected is false if the kernel says that the USB device of the sysfs entry at path has been connected for longer than its
// interfaces take to appear: then only its driver is new, as after a program had exclusive access to the interface.
func justConnected(bus devices.Bus, path string) bool {
	usb, ok := linux.USBParent(path)
	if bus != devices.USB || !ok {
		return true
	}
	root, _, _ := linux.SplitSysfs(path)
	dir := filepath.Join(root, strings.TrimPrefix(usb.Container, "usb:"))
	ms, err := strconv.ParseInt(linux.Attribute(dir, "power/connected_duration"), 10, 64)
	return err != nil || time.Duration(ms)*time.Millisecond < arrivalTime
}

// readDescriptor returns nil if the report descriptor cannot be read or is too long.
func readDescriptor(path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil || len(b) > maxDescriptor {
		return nil
	}
	return b
}

// usbInterface returns the number of the USB interface of the sysfs entry at path, or -1.
func usbInterface(path string) int {
	if n, err := strconv.ParseUint(linux.Attribute(usbInterfaceDir(path), "bInterfaceNumber"), 16, 8); err == nil {
		return int(n)
	}
	return -1
}

// usbInterfaceDir returns the folder of that interface, which exists while the device is connected, or "".
func usbInterfaceDir(path string) string {
	devices, rel, ok := linux.SplitSysfs(path)
	if !ok {
		return ""
	}
	for ; rel != "."; rel = filepath.Dir(rel) {
		if dir := filepath.Join(devices, rel); linux.Attribute(dir, "bInterfaceNumber") != "" {
			return dir
		}
	}
	return ""
}

// parseUevent returns what the kernel says of a HID device in lines of KEY=VALUE; a Bluetooth device's address is its Serial. The first
// value of a key counts: the kernel writes the identity before the texts, which come from the device.
func parseUevent(text string) (hid.Device, error) {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, "=")
		if _, twice := values[key]; !twice {
			values[key] = strings.TrimSpace(strings.ToValidUTF8(value, ""))
		}
	}
	ids := strings.Split(values["HID_ID"], ":")
	if len(ids) == 3 {
		bus, vid, pid := linux.HexID(ids[0]), linux.HexID(ids[1]), linux.HexID(ids[2])
		if bus != "" && vid != "" && pid != "" {
			return hid.Device{Bus: busOf(bus), VID: vid, PID: pid, Name: values["HID_NAME"], Serial: values["HID_UNIQ"]}, nil
		}
	}
	return hid.Device{}, fmt.Errorf("its HID_ID %q is not bus:vendor:product", values["HID_ID"])
}

// busOf maps a BUS_ number of linux/input.h.
func busOf(number string) devices.Bus {
	switch number {
	case "0003":
		return devices.USB
	case "0005":
		return devices.Bluetooth
	default:
		return ""
	}
}
