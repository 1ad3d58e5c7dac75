package fakeusb

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var acme = Spec{ID: "1209:0700", Manufacturer: "Acme", Name: "Acme Headset 700", Serial: "A1"}

func mustHeadset(t *testing.T, s Spec) *headset {
	t.Helper()
	h, err := newHeadset(s)
	require.NoError(t, err)
	return h
}

func mustCamera(t *testing.T, s Spec) *camera {
	t.Helper()
	c, err := newCamera(s)
	require.NoError(t, err)
	return c
}

// getDescriptor is the request a host sends for a descriptor of the device.
func getDescriptor(kind, index uint8) Setup {
	return Setup{RequestType: 0x80, Request: 6, Value: uint16(kind)<<8 | uint16(index), Length: 4096}
}

func TestDeviceDescriptor(t *testing.T) {
	h := mustHeadset(t, acme)
	d, err := h.Control(getDescriptor(1, 0), nil)
	require.NoError(t, err)
	require.Equal(t, []byte{
		18, 1, // length, type
		0x00, 0x02, // USB 2.0
		0, 0, 0, // see the interfaces
		64,
		0x09, 0x12, 0x00, 0x07, // 1209:0700
		0x10, 0x01, // release
		1, 2, 3, // strings
		1, // configuration
	}, d)

	c := mustCamera(t, acme)
	d, err = c.Control(getDescriptor(1, 0), nil)
	require.NoError(t, err)
	require.Equal(t, []byte{0xef, 2, 1}, d[4:7], "interface association")
}

func TestStringDescriptors(t *testing.T) {
	spec := acme
	spec.Name, spec.Serial, spec.Feature = "Ä😀", "", "Knob"
	h := mustHeadset(t, spec)
	for index, want := range map[uint8][]byte{
		0: {4, 3, 9, 4},
		1: {10, 3, 'A', 0, 'c', 0, 'm', 0, 'e', 0},
		2: {8, 3, 0xc4, 0, 0x3d, 0xd8, 0x00, 0xde},
		4: {10, 3, 'K', 0, 'n', 0, 'o', 0, 'b', 0},
	} {
		d, err := h.Control(getDescriptor(3, index), nil)
		require.NoError(t, err)
		require.Equal(t, want, d)
	}
	_, err := h.Control(getDescriptor(3, 3), nil)
	require.ErrorIs(t, err, errStall, "a string that is empty does not exist")
	d, err := h.Control(getDescriptor(1, 0), nil)
	require.NoError(t, err)
	require.Zero(t, d[16], "and the device does not mention it")
}

func TestStringsThatAreTooLong(t *testing.T) {
	fits, long := strings.Repeat("x", 126), strings.Repeat("x", 127)
	mustHeadset(t, Spec{ID: acme.ID, Serial: fits})
	_, err := newHeadset(Spec{ID: acme.ID, Serial: long})
	require.ErrorContains(t, err, "127 utf-16 units")
	_, err = newHeadset(Spec{ID: acme.ID, Feature: long})
	require.ErrorContains(t, err, "127 utf-16 units")
	_, err = newCamera(Spec{ID: acme.ID, Name: long})
	require.ErrorContains(t, err, "127 utf-16 units")
}

// The kernel walks a configuration by the lengths in it; a wrong one makes it ignore the rest.
func TestConfigurationsAreWellFormed(t *testing.T) {
	for name, device := range map[string]Device{
		"headset": mustHeadset(t, acme),
		"headset with everything": mustHeadset(t, Spec{
			ID: acme.ID, Name: acme.Name, Serial: acme.Serial, Feature: "Knob", GainControl: true, PhoneMute: PhoneMuteLevel,
		}),
		"camera": mustCamera(t, acme),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := device.Control(getDescriptor(2, 0), nil)
			require.NoError(t, err)
			require.Equal(t, int(binary.LittleEndian.Uint16(c[2:])), len(c), "total length")
			checkInterfaces(t, walk(t, c))
		})
	}
}

// walk splits a configuration into its descriptors.
func walk(t *testing.T, c []byte) [][]byte {
	t.Helper()
	var all [][]byte
	for len(c) > 0 {
		require.GreaterOrEqual(t, int(c[0]), 2)
		require.LessOrEqual(t, int(c[0]), len(c))
		all = append(all, c[:c[0]])
		c = c[c[0]:]
	}
	return all
}

// checkInterfaces compares what the descriptors say about each other.
func checkInterfaces(t *testing.T, all [][]byte) {
	t.Helper()
	interfaces, addresses := map[uint8]bool{}, map[uint8]bool{}
	for i, d := range all {
		switch d[1] {
		case descriptorInterface:
			interfaces[d[2]] = true
			require.Equal(t, int(d[4]), countEndpoints(all[i+1:]), "endpoints of interface %d.%d", d[2], d[3])
		case descriptorEndpoint:
			require.False(t, addresses[d[2]], "endpoint %#x twice", d[2])
			addresses[d[2]] = true
		case descriptorClassInterface:
			checkClassTotal(t, all[i-1], all[i:])
		}
	}
	require.Len(t, interfaces, int(all[0][4]))
}

func countEndpoints(rest [][]byte) int {
	n := 0
	for _, d := range rest {
		if d[1] == descriptorInterface {
			break
		}
		if d[1] == descriptorEndpoint {
			n++
		}
	}
	return n
}

// checkClassTotal checks the total length in a class header, which covers the class descriptors that follow it.
func checkClassTotal(t *testing.T, before []byte, rest [][]byte) {
	t.Helper()
	if before[1] != descriptorInterface {
		return // not the header
	}
	// Where the header keeps the total: in control interfaces behind the version, in video streams behind the formats.
	at := map[[2]uint8]int{
		{classAudio, subclassAudioControl}:   5,
		{classVideo, subclassVideoControl}:   5,
		{classVideo, subclassVideoStreaming}: 4,
	}[[2]uint8{before[5], before[6]}]
	if at == 0 {
		return // audio streams have none
	}
	total := 0
	for _, d := range rest {
		if d[1] != descriptorClassInterface {
			break
		}
		total += len(d)
	}
	require.Equal(t, total, int(binary.LittleEndian.Uint16(rest[0][at:])))
}

func TestFeatureUnitListsWhatTheHeadsetHas(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want []byte // controls of master and channel, name
	}{
		{acme, []byte{0x03, 0x00, 0}},
		{Spec{ID: acme.ID, GainControl: true}, []byte{0x43, 0x00, 0}},
		{Spec{ID: acme.ID, Feature: "Knob"}, []byte{0x03, 0x00, 4}},
	} {
		config, err := mustHeadset(t, c.spec).Control(getDescriptor(2, 0), nil)
		require.NoError(t, err)
		var got []byte
		for _, d := range walk(t, config) {
			if d[1] == descriptorClassInterface && d[2] == audioFeatureUnit && d[3] == entityMicrophoneFeature {
				got = d[6:]
			}
		}
		require.Equal(t, c.want, got)
	}
}

func TestHIDDescriptorMatchesTheReport(t *testing.T) {
	h := mustHeadset(t, Spec{ID: acme.ID, PhoneMute: PhoneMuteTwoButtons})
	config, err := h.Control(getDescriptor(2, 0), nil)
	require.NoError(t, err)
	report, err := h.Control(Setup{RequestType: 0x81, Request: 6, Value: 0x2200, Index: headsetTelephony}, nil)
	require.NoError(t, err)
	for _, d := range walk(t, config) {
		if d[1] == descriptorHID {
			require.Equal(t, len(report), int(binary.LittleEndian.Uint16(d[7:])))
			return
		}
	}
	require.Fail(t, "no HID descriptor")
}

func TestStandardRequests(t *testing.T) {
	h := mustHeadset(t, acme)
	reply, err := h.Control(Setup{RequestType: 0x80, Request: 8}, nil)
	require.NoError(t, err)
	require.Equal(t, []byte{1}, reply, "configuration")
	reply, err = h.Control(Setup{RequestType: 0x80, Request: 0}, nil)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0}, reply, "status")
	_, err = h.Control(Setup{RequestType: 0x80, Request: 99}, nil)
	require.ErrorIs(t, err, errStall)
	_, err = h.Control(Setup{RequestType: 0xc0, Request: 1}, nil)
	require.ErrorIs(t, err, errStall, "a vendor request")

	require.False(t, h.State().Recording)
	_, err = h.Control(Setup{RequestType: 0x01, Request: 11, Value: 1, Index: headsetCapture}, nil)
	require.NoError(t, err)
	require.True(t, h.State().Recording)
	reply, err = h.Control(Setup{RequestType: 0x81, Request: 10, Index: headsetCapture}, nil)
	require.NoError(t, err)
	require.Equal(t, []byte{1}, reply, "alternate setting")
}
