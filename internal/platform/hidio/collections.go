package hidio

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
	"sidetone/internal/platform/windows"
)

// collection is a top-level collection of a HID interface. Windows makes a node of each. All its reports of a kind are as long as the
// longest, and begin with a byte for the report number, which is 0 if they have none.
type collection struct {
	path     string // to open it
	instance string // its own id
	parent   string // instance id of the interface; its own if that is unknown
	descriptor.Preparsed
}

// described is a listed collection with what is known of its device. Of one that the driver was not asked for, because nobody may want it,
// only that is known which Windows itself stores.
type described struct {
	collection
	vid, pid  string
	version   string // as hid.Device has it
	name      string
	container string
	hardware  windows.Hardware
	plugged   bool
	presence  int // how often it had been removed before
}

// isAsked reports whether the driver was asked.
func (k described) isAsked() bool { return k.Lengths != nil }

// presences identifies the presence of each collection of an interface.
type presences string

// joinCollections reunites what Windows has split: rules are about interfaces, and a report in one collection may lead to a request in
// another. It returns the interfaces in the order of their ids, and those of their collections that can be read: Windows keeps some to
// itself. An interface that has only such ones is left out.
func joinCollections(found map[string]described) ([]entry, map[string][]*collection) {
	var entries []entry
	nodes, unclear := make(map[string][]*collection), make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(found)) {
		k := found[path]
		i := slices.IndexFunc(entries, func(e entry) bool { return e.device.Node == k.parent })
		if i < 0 {
			i = len(entries)
			entries = append(entries, entry{id: presences(""), device: k.device(), plugged: k.plugged})
		}
		e := &entries[i]
		e.id = e.id.(presences) + presences(fmt.Sprintf("%s %d\n", path, k.presence))
		switch {
		case !k.isAsked():
			unclear[k.parent] = true
		case !slices.Contains(systemOwned, k.Application):
			nodes[k.parent] = append(nodes[k.parent], &k.collection)
		}
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return len(nodes[e.device.Node]) == 0 && !unclear[e.device.Node] })
	for i := range entries {
		entries[i].device.Descriptor = joinDescriptors(nodes[entries[i].device.Node])
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.device.Node, b.device.Node) })
	return entries, nodes
}

// joinDescriptors returns the descriptor of several collections, or nil if one of theirs is unknown: a partial one would be wrong.
func joinDescriptors(of []*collection) (joined hid.Bytes) {
	for _, c := range of {
		if c.Descriptor == nil {
			return nil
		}
		joined = append(joined, c.Descriptor...)
	}
	return joined
}

// systemOwned are the usages of collections that Windows opens exclusively: pointers, mice, keyboards, keypads, pens, touch screens and
// touchpads.
var systemOwned = []uint32{0x00010001, 0x00010002, 0x00010006, 0x00010007, 0x000d0001, 0x000d0002, 0x000d0004, 0x000d0005}

// device is what is known of the interface, except for its descriptor.
func (k described) device() hid.Device {
	d := hid.Device{
		Node: k.parent, Bus: k.hardware.Bus, VID: k.vid, PID: k.pid, Version: k.version, Serial: k.hardware.Serial, Container: k.container,
		Interface: -1, Name: k.name,
	}
	if d.Bus == devices.USB {
		d.Interface = interfaceNumber(k.parent)
	}
	return d
}

// interfaceID matches the instance id of one of several interfaces of a USB device.
var interfaceID = regexp.MustCompile(`(?i)^USB\\.*&MI_([0-9A-F]{2})`)

// interfaceNumber returns the number of the USB interface with an instance id. The only interface of a device has the device's id.
func interfaceNumber(instance string) int {
	if m := interfaceID.FindStringSubmatch(instance); m != nil {
		n, _ := strconv.ParseUint(m[1], 16, 8) // the expression ensures that it is a number
		return int(n)
	}
	return 0
}

// has reports whether a report belongs to the collection. If the descriptor is unknown, it may.
func (c *collection) has(kind descriptor.Kind, number byte) bool {
	if c.Descriptor == nil {
		return c.Lengths[kind] > 0
	}
	desc := hid.Describe(hid.Device{Descriptor: c.Descriptor})
	return desc != nil && desc.Length(kind, number) > 0
}

// frame pads a report, including its number, to the length that Windows requires.
func (c *collection) frame(kind descriptor.Kind, report []byte) ([]byte, error) {
	length := c.Lengths[kind]
	if len(report) > length {
		return nil, fmt.Errorf("the longest %s report of this device has %d bytes: asked for %d", kind, length, len(report))
	}
	return append(slices.Clone(report), make([]byte, length-len(report))...), nil
}

// unframe returns an input report as the device sends it: without a number if reports have none, and without what Windows appends.
func unframe(desc *descriptor.Descriptor, report []byte) []byte {
	report = unpad(desc, descriptor.Input, report)
	if len(report) > 0 && report[0] == 0 {
		return report[1:]
	}
	return report
}

// unpad returns a report, or an answer, that begins with its number, or with 0 if reports have none, without what Windows appends to one
// that is shorter than the longest.
func unpad(desc *descriptor.Descriptor, kind descriptor.Kind, report []byte) []byte {
	if len(report) == 0 || desc == nil {
		return report
	}
	length := desc.Length(kind, report[0])
	if length == 0 { // not declared
		return report
	}
	if report[0] == 0 {
		length++
	}
	return report[:min(length, len(report))]
}
