package hidio

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
	"sidetone/internal/platform/windows"
)

const interfaceThree = `USB\VID_1209&PID_0700&MI_03\7&1A2B3C&0&0000`

// oneReport is a collection with one input report of two bytes, its number included.
func oneReport(t *testing.T, path string, application uint32, id byte) described {
	usage := []byte{0x0b, byte(application), byte(application >> 8), byte(application >> 16), byte(application >> 24)}
	rest, err := hex.DecodeString("a10185" + hex.EncodeToString([]byte{id}) + "150025017501950809098102c0")
	require.NoError(t, err)
	return described{
		collection: collection{path: path, instance: "HID" + path, parent: interfaceThree, Preparsed: descriptor.Preparsed{
			Application: application, Lengths: map[descriptor.Kind]int{descriptor.Input: 2}, Descriptor: append(usage, rest...),
		}},
		vid: "1209", pid: "0700", version: "0104", name: "Acme", container: "{C}", hardware: windows.Hardware{Bus: devices.USB, VID: "1209", PID: "0700", Serial: "SN1"}, plugged: true,
	}
}

func TestCollectionsOfOneInterfaceAreOneDevice(t *testing.T) {
	keys, phone, keyboard := oneReport(t, "col01", 0x000c0001, 1), oneReport(t, "col02", 0x000b0005, 2), oneReport(t, "col03", 0x00010006, 3)
	entries, nodes := joinCollections(map[string]described{"col02": phone, "col01": keys, "col03": keyboard})
	require.Len(t, entries, 1)
	require.True(t, entries[0].plugged)
	got := entries[0].device
	desc := hid.Describe(got)
	require.Equal(t, []uint32{0x000c0001, 0x000b0005}, desc.Applications, "nobody but Windows reads a keyboard")
	require.Equal(t, 2, desc.Length(descriptor.Input, 1))
	require.Equal(t, 2, desc.Length(descriptor.Input, 2))
	require.Zero(t, desc.Length(descriptor.Input, 3))
	got.Descriptor = nil
	require.Equal(t, hid.Device{
		Node: interfaceThree, Bus: devices.USB, VID: "1209", PID: "0700", Version: "0104", Serial: "SN1", Container: "{C}", Interface: 3, Name: "Acme",
	}, got)
	require.Len(t, nodes[interfaceThree], 2)
	require.True(t, nodes[interfaceThree][0].has(descriptor.Input, 1))
	require.False(t, nodes[interfaceThree][0].has(descriptor.Input, 2))

	alone, _ := joinCollections(map[string]described{"col01": keys})
	require.NotEqual(t, entries[0].id, alone[0].id, "one that comes later makes it another device")
	phone.presence++
	again, _ := joinCollections(map[string]described{"col01": keys, "col02": phone})
	require.NotEqual(t, entries[0].id, again[0].id, "so does one that was gone in between")

	stranger := phone
	stranger.Preparsed = descriptor.Preparsed{}
	unasked, nodes := joinCollections(map[string]described{"col01": keys, "col02": stranger})
	twice, _ := joinCollections(map[string]described{"col01": keys, "col02": phone})
	require.Equal(t, twice[0].id, unasked[0].id, "it stays the same device when its driver is asked")
	require.Len(t, nodes[interfaceThree], 1)
	unasked, nodes = joinCollections(map[string]described{"col02": stranger})
	require.Len(t, unasked, 1, "it is there, to be known again")
	require.Empty(t, nodes, "but nothing of it is opened")

	phone.Descriptor = nil
	unreadable, nodes := joinCollections(map[string]described{"col01": keys, "col02": phone})
	require.Nil(t, unreadable[0].device.Descriptor, "half of a descriptor would be a wrong one")
	require.True(t, nodes[interfaceThree][1].has(descriptor.Input, 7), "what a collection has is not known")
}

func TestInterfacesAreInOrder(t *testing.T) {
	one, other := oneReport(t, "a", 0x000b0005, 1), oneReport(t, "b", 0x000b0005, 1)
	one.parent, other.parent = `USB\VID_1209&PID_0701\SN2`, `BTHENUM\{00001124-0000-1000-8000-00805F9B34FB}_VID&00021209_PID&0702\8&1&0&AABBCCDDEEFF_C00000000`
	other.hardware = windows.Hardware{Bus: devices.Bluetooth}
	entries, _ := joinCollections(map[string]described{"a": one, "b": other})
	require.Equal(t, []string{other.parent, one.parent}, []string{entries[0].device.Node, entries[1].device.Node})
	require.Equal(t, []int{-1, 0}, []int{entries[0].device.Interface, entries[1].device.Interface})
}

func TestReportsAreOfWindowsLength(t *testing.T) {
	c := collection{Preparsed: descriptor.Preparsed{Lengths: map[descriptor.Kind]int{descriptor.Output: 4}}}
	framed, err := c.frame(descriptor.Output, []byte{1, 2})
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 0, 0}, framed)
	_, err = c.frame(descriptor.Output, []byte{1, 2, 3, 4, 5})
	require.EqualError(t, err, "the longest output report of this device has 4 bytes: asked for 5")
	require.Equal(t, []byte{7}, unframe(nil, []byte{0, 7}), "a report without a number")
	require.Equal(t, []byte{5, 7}, unframe(nil, []byte{5, 7}))
	require.Empty(t, unframe(nil, nil))

	// Reports 1 of two bytes and 2 of four, both with their numbers.
	numbered := hid.Describe(hid.Device{Descriptor: []byte("\x06\x00\xff\x09\x01\xa1\x01\x75\x08\x85\x01\x95\x01\x09\x02\x81\x02\x85\x02\x95\x03\x09\x02\x81\x02\xc0")})
	require.Equal(t, []byte{1, 7}, unframe(numbered, []byte{1, 7, 0, 0}), "Windows appends zeros to what is shorter than the longest")
	require.Equal(t, []byte{2, 7, 8, 0}, unframe(numbered, []byte{2, 7, 8, 0}))
	require.Equal(t, []byte{3, 7, 0, 0}, unframe(numbered, []byte{3, 7, 0, 0}), "a report that is not declared")
	plain := hid.Describe(hid.Device{Descriptor: []byte("\x06\x00\xff\x09\x01\xa1\x01\x75\x08\x95\x02\x09\x02\x81\x02\xc0")})
	require.Equal(t, []byte{7, 8}, unframe(plain, []byte{0, 7, 8}))
	require.Equal(t, []byte{7, 8}, unframe(plain, []byte{0, 7, 8, 0}))
}

// The answers to requests are cut like reports, but keep the place of the number, as on Linux.
func TestAnswersAreOfTheirOwnLength(t *testing.T) {
	// Feature reports 1 of two bytes and 2 of four, and an input report 1 of three, all with their numbers.
	numbered := hid.Describe(hid.Device{Descriptor: []byte("\x06\x00\xff\x09\x01\xa1\x01\x75\x08\x85\x01\x95\x01\x09\x02\xb1\x02\x95\x02\x09\x02\x81\x02\x85\x02\x95\x03\x09\x02\xb1\x02\xc0")})
	plain := hid.Describe(hid.Device{Descriptor: []byte("\x06\x00\xff\x09\x01\xa1\x01\x75\x08\x95\x02\x09\x02\xb1\x02\xc0")})
	for _, c := range []struct {
		desc         *descriptor.Descriptor
		kind         descriptor.Kind
		answer, want []byte
	}{
		{numbered, descriptor.Feature, []byte{1, 7, 0, 0}, []byte{1, 7}},
		{numbered, descriptor.Feature, []byte{2, 7, 8, 0}, []byte{2, 7, 8, 0}},
		{numbered, descriptor.Feature, []byte{3, 7, 0, 0}, []byte{3, 7, 0, 0}},
		{numbered, descriptor.Feature, []byte{2, 7}, []byte{2, 7}},
		{numbered, descriptor.Input, []byte{1, 7, 8, 0}, []byte{1, 7, 8}},
		{plain, descriptor.Feature, []byte{0, 7, 8, 0}, []byte{0, 7, 8}},
		{nil, descriptor.Feature, []byte{1, 7, 0, 0}, []byte{1, 7, 0, 0}},
		{plain, descriptor.Feature, nil, nil},
	} {
		require.Equal(t, c.want, unpad(c.desc, c.kind, c.answer), "% x", c.answer)
	}
}

func TestCollectionsThatWindowsKeeps(t *testing.T) {
	for _, usage := range []uint32{0x00010001, 0x00010002, 0x00010006, 0x00010007, 0x000d0001, 0x000d0002, 0x000d0004, 0x000d0005} {
		entries, _ := joinCollections(map[string]described{"col01": oneReport(t, "col01", usage, 1)})
		require.Empty(t, entries, "%08x", usage)
	}
}
