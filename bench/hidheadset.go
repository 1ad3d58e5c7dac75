//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"sidetone/internal/devices"
	"sidetone/internal/testlab"
)

// Numbers of the headset's input reports.
const (
	phoneReport   = 1
	batteryReport = 2
)

// hidDescriptor is that of a headset's buttons: Phone Mute as a switch that shows its state
// (absolute, no preferred state), and a report of the vendor's own that no source reads.
var hidDescriptor = []byte{
	0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, // telephony, headset
	0x85, phoneReport, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x22, // phone mute
	0x95, 0x07, 0x81, 0x03, 0xc0,
	0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, // the vendor's own
	0x85, batteryReport, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x01, 0x09, 0x02, 0x81, 0x02, 0xc0,
}

// hidHeadset is the HID interface of a headset.
var hidHeadset = testlab.HIDDevice{
	Node: "hidraw0", Port: "1-3", Interface: 3,
	VID: "1209", PID: "0700", Serial: "A700-0001", Name: "Acme Headset 700", Descriptor: hidDescriptor,
}

// muteReport is what the headset sends when its switch is turned.
func muteReport(mute bool) []byte {
	if mute {
		return []byte{phoneReport, 1}
	}
	return []byte{phoneReport, 0}
}

// headsetEndpoints is what a sound server says of the headset.
func headsetEndpoints() []devices.Endpoint {
	mic := devices.Endpoint{
		ID: "mic", Name: "Acme Headset 700 Mono", Type: devices.AudioInput, Bus: devices.USB, VID: hidHeadset.VID, PID: hidHeadset.PID,
		Serial: hidHeadset.Serial, Container: hidHeadset.Container(),
	}
	speaker := mic
	speaker.ID, speaker.Name, speaker.Type = "speaker", "Acme Headset 700 Analog Stereo", devices.AudioOutput
	return []devices.Endpoint{mic, speaker}
}

// writeEndpoints puts the headset's endpoints into an endpoint file of the folder.
func writeEndpoints(folder string) (path string, err error) {
	text, err := json.Marshal(map[string]any{"endpoints": headsetEndpoints()})
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "endpoints.json")
	return path, os.WriteFile(path, text, 0o600)
}
