package testlab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// HIDTree is a folder with simulated HID devices for hidio.New: entries as in sysfs, and nodes that are
// pipes on which each write is one report. Real kernel devices are tested in the virtual machine
// (tools/vm).
type HIDTree struct {
	root    string
	plugged int // counts all devices plugged in so far, as the kernel does
}

// NewHIDTree makes an empty tree in an existing folder.
func NewHIDTree(root string) (*HIDTree, error) {
	err := errors.Join(os.MkdirAll(filepath.Join(root, "dev"), 0o755), os.MkdirAll(filepath.Join(root, "sys/class/hidraw"), 0o755))
	if err != nil {
		return nil, fmt.Errorf("make a tree for HID devices: %w", err)
	}
	return &HIDTree{root: root}, nil
}

// HIDDevice is one HID interface of a USB device.
type HIDDevice struct {
	Node       string // hidraw3
	Port       string // of the USB device: 1-3
	VID, PID   string // 4 hex digits
	Serial     string
	Name       string
	Interface  int
	Descriptor []byte
}

func (d HIDDevice) usb() string { return "pci0000:00/0000:00:14.0/usb1/" + d.Port }

// Container returns the Container of the audio endpoints of the same USB device.
func (d HIDDevice) Container() string { return "usb:" + d.usb() }

// HIDNode is a plugged-in device.
type HIDNode struct {
	tree *HIDTree
	name string
	fd   int // the device's end
}

// connected is the file with the time for which a USB device has been connected, in milliseconds.
const connected = "power/connected_duration"

// Plug creates the device's entries in sysfs, and then its node.
func (t *HIDTree) Plug(d HIDDevice) (*HIDNode, error) {
	t.plugged++
	port := fmt.Sprintf("%s:1.%d", d.Port, d.Interface)
	parent := filepath.Join("sys/devices", d.usb(), port, fmt.Sprintf("0003:%s:%s.%04X", d.VID, d.PID, t.plugged))
	entry := filepath.Join(parent, "hidraw", d.Node)
	files := map[string]string{
		filepath.Join("sys/devices", d.usb(), "idVendor"):               d.VID,
		filepath.Join("sys/devices", d.usb(), "idProduct"):              d.PID,
		filepath.Join("sys/devices", d.usb(), "serial"):                 d.Serial,
		filepath.Join("sys/devices", d.usb(), "product"):                d.Name,
		filepath.Join("sys/devices", d.usb(), connected):                "1500\n",    // just plugged in ...
		filepath.Join("sys/devices", filepath.Dir(d.usb()), connected):  "3600000\n", // ... where the hub was before
		filepath.Join("sys/devices", d.usb(), port, "bInterfaceNumber"): fmt.Sprintf("%02x", d.Interface),
		filepath.Join(parent, "report_descriptor"):                      string(d.Descriptor),
		filepath.Join(parent, "uevent"): fmt.Sprintf("HID_ID=0003:0000%s:0000%s\nHID_NAME=%s\nHID_UNIQ=%s\n",
			d.VID, d.PID, d.Name, d.Serial),
	}
	err := os.MkdirAll(filepath.Join(t.root, entry), 0o755)
	for _, usb := range []string{d.usb(), filepath.Dir(d.usb())} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(t.root, "sys/devices", usb, filepath.Dir(connected)), 0o755))
	}
	for path, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(t.root, path), []byte(text), 0o644))
	}
	err = errors.Join(err,
		os.Symlink("../../../"+filepath.Base(parent), filepath.Join(t.root, entry, "device")),
		os.Symlink("../../devices/"+entry[len("sys/devices/"):], filepath.Join(t.root, "sys/class/hidraw", d.Node)))
	fd := -1
	if err == nil {
		fd, err = t.pipe(d.Node)
	}
	if err != nil {
		return nil, fmt.Errorf("plug in %s: %w", d.Node, err)
	}
	return &HIDNode{t, d.Node, fd}, nil
}

// pipe creates a node on which each write is one packet. It stays open at both ends, so that readers may
// come and go.
func (t *HIDTree) pipe(name string) (fd int, err error) {
	made := filepath.Join(t.root, name)
	if err := unix.Mkfifo(made, 0o600); err != nil {
		return -1, err
	}
	if fd, err = unix.Open(made, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if _, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_DIRECT|unix.O_NONBLOCK); err == nil {
		err = os.Rename(made, filepath.Join(t.root, "dev", name))
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// Path returns the path of the node.
func (n *HIDNode) Path() string { return filepath.Join(n.tree.root, "dev", n.name) }

// Report sends an input report. It fails when the pipe is full.
func (n *HIDNode) Report(report []byte) error {
	if _, err := unix.Write(n.fd, report); err != nil {
		return fmt.Errorf("send a report through %s: %w", n.Path(), err)
	}
	return nil
}

// Unplug removes the device's entries, and last its node, whose removal can be watched.
func (n *HIDNode) Unplug() error {
	class := filepath.Join(n.tree.root, "sys/class/hidraw", n.name)
	entry, err := filepath.EvalSymlinks(class)
	if err != nil {
		return fmt.Errorf("unplug %s: %w", n.name, err)
	}
	for _, path := range []string{class, filepath.Dir(filepath.Dir(entry)), n.Path()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("unplug %s: %w", n.name, err)
		}
	}
	return unix.Close(n.fd)
}
