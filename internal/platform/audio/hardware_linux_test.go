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
		{Index: 7, Properties: map[string]string{"device.description": "Acme 800", "device.bus": "bluetooth", "device.string": "00:11:22:AA:BB:CC"}},
	}}
	require.Equal(t, []devices.Hardware{
		{ID: "4", Name: "Acme 700", Sound: true, Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A1", Container: "usb:1-2"},
		{ID: "7", Name: "Acme 800", Sound: true, Bus: devices.Bluetooth, Container: "bluetooth:00:11:22:aa:bb:cc"},
	}, hardwareOf(s, findUSB))
	s.Sinks = []pulse.Sink{{Device: pulse.Device{Name: "speaker", Card: 4}}}
	speaker := endpointsOf(s, findUSB)[0]
	require.Equal(t, []string{"1209", "0700", "A1", "usb:1-2"}, []string{speaker.VID, speaker.PID, speaker.Serial, speaker.Container})
}
