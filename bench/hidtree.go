//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
)

const (
	hidNode = "hidraw0"
	// hidPort is where the headset is plugged in, below sys/devices.
	hidPort = "pci0000:00/0000:00:14.0/usb1/1-3"
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
		ID: "mic", Name: "Acme Headset 700 Mono", Type: devices.AudioInput, Bus: devices.USB, VID: "1209", PID: "0700",
		Serial: "A700-0001", Container: "usb:" + hidPort,
	}
	speaker := mic
	speaker.ID, speaker.Name, speaker.Type = "speaker", "Acme Headset 700 Analog Stereo", devices.AudioOutput
	return []devices.Endpoint{mic, speaker}
}

// hidTree is a folder with as much of sys and dev as tells of one headset. Its node is a pipe
// in packet mode: one write is one report, and one read takes one.
type hidTree struct {
	root string
	far  int // the pipe's end at which the headset sends
}

func newHIDTree(dir string) (hidTree, error) {
	root, err := os.MkdirTemp(dir, "hid")
	if err != nil {
		return hidTree{}, fmt.Errorf("make a folder for the headset: %w", err)
	}
	t := hidTree{root: root, far: -1}
	if err := t.describe(); err != nil {
		return t, fmt.Errorf("describe the headset: %w", err)
	}
	if err := t.plug(); err != nil {
		return t, fmt.Errorf("make the headset's node: %w", err)
	}
	return t, nil
}

func (t hidTree) node() string { return filepath.Join(t.root, "dev", hidNode) }

// describe makes what sysfs has of the headset.
func (t hidTree) describe() error {
	const device = hidPort + "/1-3:1.3/0003:1209:0700.0001"
	entry := filepath.Join(device, "hidraw", hidNode)
	for name, text := range map[string]string{
		hidPort + "/idVendor":                 "1209\n",
		hidPort + "/idProduct":                "0700\n",
		hidPort + "/serial":                   "A700-0001\n",
		hidPort + "/1-3:1.3/bInterfaceNumber": "03\n",
		device + "/uevent":                    "HID_ID=0003:00001209:00000700\nHID_NAME=Acme Headset 700\n",
		device + "/report_descriptor":         string(hidDescriptor),
	} {
		path := filepath.Join(t.root, "sys/devices", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, dir := range []string{filepath.Join("sys/devices", entry), "sys/class/hidraw", "dev"} {
		if err := os.MkdirAll(filepath.Join(t.root, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.Symlink("../../../"+filepath.Base(device), filepath.Join(t.root, "sys/devices", entry, "device")); err != nil {
		return err
	}
	return os.Symlink("../../devices/"+entry, filepath.Join(t.root, "sys/class/hidraw", hidNode))
}

// plug makes the node. Its far end is open at both sides, so that programs may come and go.
func (t *hidTree) plug() (err error) {
	if err := unix.Mkfifo(t.node(), 0o600); err != nil {
		return err
	}
	if t.far, err = unix.Open(t.node(), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	_, err = unix.FcntlInt(uintptr(t.far), unix.F_SETFL, unix.O_DIRECT|unix.O_NONBLOCK)
	return err
}

// send is a report of the headset.
func (t hidTree) send(report []byte) error {
	if _, err := unix.Write(t.far, report); err != nil {
		return fmt.Errorf("send a report through the headset's node: %w", err)
	}
	return nil
}

func (t hidTree) close() {
	if t.far >= 0 {
		_ = unix.Close(t.far)
	}
}
