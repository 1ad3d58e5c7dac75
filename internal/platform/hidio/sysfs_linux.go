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

// isPresent reports whether the entry is there.
func (id sysfsID) isPresent() bool {
	now, ok := identify(id.path)
	return ok && now == id
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

// wasUnpowered reports whether the device of the sysfs entry at path surely had no power until it arrived. That is not so if
//   - its USB device has been connected for longer than its interfaces take to appear: then only its driver is new, as after a program had
//     exclusive access to the interface;
//   - it says that it has power of its own;
//   - the hub above it came with it, as when a dock, a monitor or a switch between computers is connected, which may have kept its power;
//   - the kernel does not say.
func wasUnpowered(bus devices.Bus, path string) bool {
	usb, ok := linux.USBParent(path)
	if bus != devices.USB || !ok {
		return true
	}
	root, _, _ := linux.SplitSysfs(path)
	place := strings.TrimPrefix(usb.Container, "usb:")
	dir := filepath.Join(root, place)
	age, known := connectedFor(dir)
	if !known || age >= arrivalTime || isSelfPowered(dir) {
		return false
	}
	hub := filepath.Dir(dir)
	for linux.Attribute(dir, "removable") == "fixed" && !isRootHub(hub) && !isSelfPowered(hub) { // the hub is part of the device
		dir, hub = hub, filepath.Dir(hub)
	}
	if isRootHub(hub) && strings.HasPrefix(place, "platform"+string(filepath.Separator)) { // its controller is part of the machine
		return true
	}
	hubAge, known := connectedFor(hub)
	return known && hubAge-age >= arrivalTime
}

// connectedFor returns how long the USB device in a folder has been connected; false if the kernel does not say.
func connectedFor(dir string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(linux.Attribute(dir, "power/connected_duration"), 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}

// isSelfPowered reports whether the USB device in a folder says that it has power of its own (USB 2.0, table 9-10).
func isSelfPowered(dir string) bool {
	attributes, err := strconv.ParseUint(linux.Attribute(dir, "bmAttributes"), 16, 8)
	return err == nil && attributes&0x40 != 0
}

// isRootHub reports whether a USB hub's folder is that of a controller, such as usb1.
func isRootHub(dir string) bool { return strings.HasPrefix(filepath.Base(dir), "usb") }

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
