package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
)

// switchDescriptor declares Phone Mute as a switch that stays: absolute, without a preferred state.
var switchDescriptor = []byte{
	0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x85, 0x01, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01,
	0x09, 0x2f, 0x81, 0x22, 0x95, 0x07, 0x81, 0x03, 0xc0,
}

// telephony is the HID interface of the headset that is plugged in.
var telephony = testlab.HIDDevice{
	Node: "hidraw0", Port: "1-3", VID: headset700.VID, PID: headset700.PID, Serial: headset700.Serial, Name: headset700.Description,
	Interface: 3, Descriptor: switchDescriptor,
}

// withHID is a desk whose agent has HID devices.
func withHID(t *testing.T, sound *testlab.SoundServer) (*controlled, *testlab.HIDTree) {
	t.Helper()
	root := t.TempDir()
	lab, err := testlab.NewHIDTree(root)
	require.NoError(t, err)
	d := newControlled(t, sound)
	d.env = append(d.env, hidEnv+"="+root)
	return d, lab
}

// says waits until the client has this hardware mute; nil is none at all.
func (d *controlled) says(mute *bool) {
	d.t.Helper()
	d.has("another hardware_mute", func(list []fakeserver.Device) bool {
		i := slices.IndexFunc(list, func(d fakeserver.Device) bool { return d.Type == "audioinput" })
		return i >= 0 && (mute == nil && list[i].HardwareMute == nil || mute != nil && list[i].HardwareMute != nil && *mute == *list[i].HardwareMute)
	})
}

// TestHID presses the mute button of a headset whose telephony interface shows its state, beside the
// sound server's own mute of it.
func TestHID(t *testing.T) {
	t.Parallel()
	for _, kind := range testlab.SoundKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			d, lab := withHID(t, testlab.SoundForTest(t, kind))
			yes, no := true, false
			d.plugForTest(headset700)
			node, err := lab.Plug(telephony)
			require.NoError(t, err)
			d.start()
			d.says(&no) // of the sound server: the device has not shown its switch yet

			require.NoError(t, node.Report([]byte{1, 1}))
			d.says(&yes)
			status, _, code := d.ask("status")
			require.Equal(t, exitOK, code)
			require.Regexp(t, `hardware_mute +true +hid_usage \(hidraw0\)`, status)
			require.Regexp(t, `(?s)HID devices.*hidraw0 +Acme Headset 700 +1209:0700, interface 3.*acme-headset-700 sources\[0\] +true`, status)
			why, _, _ := d.ask("explain", d.microphone())
			require.Regexp(t, `sources\[0\] +true, hid_usage \(hidraw0\).*: decides`, why)
			require.Regexp(t, `sources\[1\] +false, os_endpoint_mute.*: overruled`, why)

			require.NoError(t, node.Report([]byte{1, 0}))
			d.says(&no)
			require.NoError(t, node.Report([]byte{1, 1}))
			d.says(&yes)

			// What the device said ends with the device.
			require.NoError(t, node.Unplug())
			d.says(&no)
			node, err = lab.Plug(telephony)
			require.NoError(t, err)
			require.NoError(t, node.Report([]byte{1, 1}))
			d.says(&yes)

			require.NoError(t, node.Report([]byte{1, 0}))
			d.says(&no)
			require.NoError(t, node.Unplug())
			d.stop()
		})
	}
}

// TestHIDReload: a reload keeps what the sources that stay have read, and opens and closes devices.
func TestHIDReload(t *testing.T) {
	t.Parallel()
	d, lab := withHID(t, testlab.SoundForTest(t, testlab.PulseAudio))
	example, err := os.ReadFile(d.catalogue)
	require.NoError(t, err)
	d.catalogue = filepath.Join(t.TempDir(), "acme.yaml")
	write := func(text []byte) { require.NoError(t, os.WriteFile(d.catalogue, text, 0o600)) }
	write(example)
	d.plugForTest(headset700)
	node, err := lab.Plug(telephony)
	require.NoError(t, err)
	yes, no := true, false
	d.start()
	d.says(&no)
	require.NoError(t, node.Report([]byte{1, 1}))
	d.says(&yes)

	d.signal(syscall.SIGHUP)
	d.logged("configuration read again")
	require.NoError(t, node.Report([]byte{1, 0}))
	d.says(&no)
	require.NoError(t, node.Report([]byte{1, 1}))
	d.says(&yes)

	require.Contains(t, string(example), "hid_usage: {}")
	write([]byte(strings.Replace(string(example), "hid_usage: {}", "os_endpoint_mute: {shared_with_button: true}", 1)))
	d.signal(syscall.SIGHUP)
	d.logged("HID device is gone")
	d.says(&no)

	write(example)
	d.signal(syscall.SIGHUP)
	d.logged("HID device is read")
	require.NoError(t, node.Report([]byte{1, 1}))
	d.says(&yes)
	require.NoError(t, node.Unplug())
	d.says(&no)
	d.stop()
}
