package hidio

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform/linux"
)

// kernelBacklog is how many reports the kernel queues for one reader, in a ring of HIDRAW_BUFFER_SIZE.
const kernelBacklog = 63

var hidrawName = regexp.MustCompile(`^hidraw[0-9]+$`)

// hidraw is the backend: the kernel's nodes for HID devices.
type hidraw struct {
	linux.Tree
	openNode func(path string) (*os.File, error)
	send     sender
	log      *slog.Logger
	hotplug  *linux.Hotplug

	known map[sysfsID]known
	// kept are USB interfaces, or else their USB devices, that are present although a HID device of theirs has gone: they have kept their
	// power.
	kept map[sysfsID]bool
}

// known is a listed device.
type known struct {
	entry
	iface, usb sysfsID // its USB interface and device; zero: none
}

// sysfsID identifies an entry of sysfs. The kernel numbers HID devices in the order of arrival, and the number is part of the path:
// .../0003:1209:0700.0007/hidraw/hidraw3.
type sysfsID struct {
	path  string // below /sys, without links
	inode uint64
}

// newBackend returns the HID devices of the machine with sys and dev in the folder root.
func newBackend(root string, log *slog.Logger) (backend, error) {
	tree, err := linux.OpenTree(root)
	if err != nil {
		return nil, fmt.Errorf("hid source: %w", err)
	}
	return newHidraw(tree, log), nil
}

func newHidraw(tree linux.Tree, log *slog.Logger) *hidraw {
	return &hidraw{
		Tree: tree, openNode: openNode, send: sendRequest, log: log, hotplug: new(linux.Hotplug), kept: make(map[sysfsID]bool),
	}
}

// list returns the devices in sysfs in the order of their nodes' numbers.
func (r *hidraw) list(func(hid.Device) bool) ([]entry, error) {
	paths, err := r.Class("hidraw")
	if err != nil {
		return nil, err
	}
	var ids []sysfsID
	for _, path := range paths {
		if id, ok := identify(path); ok && hidrawName.MatchString(filepath.Base(path)) { // an entry that leads nowhere is just going
			ids = append(ids, id)
		}
	}
	r.noteGone(ids) // before others are described: one of them may be the same device with its driver back
	var entries []entry
	found := make(map[sysfsID]known)
	for _, id := range ids {
		k, ok := r.known[id]
		if !ok {
			if k, err = r.describe(id); err != nil {
				if linux.Exists(id.path) {
					e := entry{unreadable: health.Wrap(err, health.Unexplained, health.Warning, nil)}
					e.device.Node = filepath.Base(id.path)
					entries = append(entries, e)
				}
				continue
			}
		}
		found[id] = k
		entries = append(entries, k.entry)
	}
	r.known = found
	return entries, nil
}

// noteGone notes what has kept its power although a HID device of it is not among the present ones any more: a program may take an
// interface from its driver, or an administrator the authorization from the device, and give it back.
func (r *hidraw) noteGone(present []sysfsID) {
	for id, k := range r.known {
		switch {
		case slices.Contains(present, id):
		case k.iface.isPresent():
			r.kept[k.iface] = true
		case k.usb.isPresent():
			r.kept[k.usb] = true
		}
	}
	maps.DeleteFunc(r.kept, func(id sysfsID, _ bool) bool { return !id.isPresent() })
}

func (r *hidraw) describe(id sysfsID) (known, error) {
	device, err := describe(id.path)
	if err != nil {
		return known{}, err
	}
	k := known{entry: entry{id: id, device: device, plugged: wasUnpowered(device.Bus, id.path)}}
	if dir := usbInterfaceDir(id.path); dir != "" {
		k.iface, _ = identify(dir)
		k.usb, _ = identify(filepath.Dir(dir))
		k.plugged = k.plugged && !r.kept[k.iface] && !r.kept[k.usb]
	}
	return k, nil
}

func (r *hidraw) path(node string) string { return filepath.Join(r.Dev, node) }

func (r *hidraw) open(node string) (connection, error) {
	file, err := r.openNode(r.path(node))
	if err != nil {
		return nil, err
	}
	return newNode(file, r.send)
}

func (r *hidraw) backlog() int { return kernelBacklog }

func (r *hidraw) watch(announce func(node string), changed func()) {
	match := func(node string) bool {
		if !hidrawName.MatchString(node) {
			return false
		}
		announce(node)
		return true
	}
	r.hotplug = linux.WatchHotplug("HID device", "hidraw", r.Dev, match, r.log, changed)
}

func (r *hidraw) unwatched() []health.Condition { return r.hotplug.Notes() }

func (r *hidraw) close() error { return r.hotplug.Close() }
