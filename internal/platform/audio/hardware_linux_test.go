package audio

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/platform/linux"
)

// A card without endpoints is identified as its endpoints would be.
func TestHardwareIsThatOfTheCards(t *testing.T) {
	findUSB := func(path string) (linux.USBDevice, bool) {
		return linux.USBDevice{VID: "1209", PID: "0700", Serial: "A1", Container: "usb:1-2"}, path == "/devices/usb1/1-2/sound/card1"
	}
	s := pulse.Snapshot{Cards: []pulse.Card{
		{Index: 4, Properties: map[string]string{"device.description": "Acme 700", "device.bus": "usb", "sysfs.path": "/devices/usb1/1-2/sound/card1"}},
		{Index: 7, OutputsOnly: true, Properties: map[string]string{"device.description": "Acme 800", "device.bus": "bluetooth", "device.string": "00:11:22:AA:BB:CC"}},
	}}
	require.Equal(t, []devices.Hardware{
		{ID: "1/4", Name: "Acme 700", Sound: true, Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A1", Container: "usb:1-2"},
		{ID: "1/7", Name: "Acme 800", Sound: true, OutputsOnly: true, Bus: devices.Bluetooth, Container: "bluetooth:00:11:22:aa:bb:cc"},
	}, hardwareOf(s, findUSB, 1))
	s.Sinks = []pulse.Sink{{Device: pulse.Device{Name: "speaker", Card: 4}}}
	speaker := endpointsOf(s, findUSB)[0]
	require.Equal(t, []string{"1209", "0700", "A1", "usb:1-2"}, []string{speaker.VID, speaker.PID, speaker.Serial, speaker.Container})
}

// A sound server counts its cards from 0 after each start, so the card of a headset that was plugged in anew meanwhile may have the index
// that it had before. Its USB device tells; of other cards nobody knows.
func TestCardsAfterARestartOfTheServer(t *testing.T) {
	const a, b = "/devices/usb1/1-2/sound/card1", "/devices/usb1/1-3/sound/card2"
	numbers := map[string]string{a: "7", b: "8"}
	findUSB := func(path string) (linux.USBDevice, bool) {
		return linux.USBDevice{VID: "1209", PID: "0700", Container: "usb:" + path, Number: numbers[path]}, path != ""
	}
	cards := func(connections int, paths ...string) (ids []string) {
		var s pulse.Snapshot
		for i, path := range paths {
			s.Cards = append(s.Cards, pulse.Card{Index: uint32(i), Properties: map[string]string{"sysfs.path": path}})
		}
		for _, h := range hardwareOf(s, findUSB, connections) {
			ids = append(ids, h.ID)
		}
		return ids
	}
	before := cards(1, a, b, "")
	require.Equal(t, before, cards(1, a, b, ""))
	after := cards(2, b, a, "")
	require.Equal(t, before[:2], []string{after[1], after[0]}, "both have stayed")
	require.NotEqual(t, before[2], after[2])
	numbers[a] = "9"
	require.NotEqual(t, before[0], cards(2, a, b)[0], "it was plugged in anew")
	require.Equal(t, before[1], cards(2, a, b)[1])
}
