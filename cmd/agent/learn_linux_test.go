package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/hid"
	"sidetone/internal/platform/hidio"
	"sidetone/internal/testlab"
)

// TestLearnReadsNodes learns through the real source, from a folder with a sysfs and a FIFO as the
// headset's node: one write is one report.
func TestLearnReadsNodes(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	const (
		usb   = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-3"
		dev   = usb + "/1-3:1.4/0003:1209:0700.0001"
		entry = dev + "/hidraw/hidraw4"
	)
	put := func(path, text string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	put(usb+"/idVendor", "1209\n")
	put(usb+"/idProduct", "0700\n")
	put(usb+"/1-3:1.4/bInterfaceNumber", "04\n")
	put(dev+"/uevent", "HID_ID=0003:00001209:00000700\nHID_NAME=Acme Headset 700\nHID_UNIQ=SN1\n")
	put(dev+"/report_descriptor", string(ownReport))
	for _, dir := range []string{entry, "sys/class/hidraw", "dev"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.Symlink("../../../"+filepath.Base(dev), filepath.Join(root, entry, "device")))
	require.NoError(t, os.Symlink("../../../"+entry, filepath.Join(root, "sys/class/hidraw/hidraw4")))
	node := filepath.Join(root, "dev/hidraw4")
	require.NoError(t, unix.Mkfifo(node, 0o600))
	far, err := unix.Open(node, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(far) })
	_, err = unix.FcntlInt(uintptr(far), unix.F_SETFL, unix.O_DIRECT)
	require.NoError(t, err)

	heard := make(chan hid.Event, 100)
	d := newTuition(t, "", "", func(want func(hid.Device) bool, handle func(hid.Event)) (hidio.Devices, error) {
		return hidio.New(root, hidio.Any(want), func(e hid.Event) { handle(e); heard <- e }, slog.New(slog.DiscardHandler))
	})
	d.send = func(report []byte) {
		_, err := unix.Write(far, report)
		require.NoError(t, err)
		for e := range heard { // until it is recorded
			if e.Kind == hid.Report {
				return
			}
		}
	}
	d.enter("NOT muted")
	d.enter("everything but mute")
	for range 2 {
		d.press("IS muted", 1)
		d.press("is NOT muted", 0)
	}
	require.NoError(t, d.end())
	require.Contains(t, d.out.String(), "hid_report: {report_id: 0x07, value: {byte: 2, mask: 0x01}}\n")
}

// TestLearnWithoutPermission runs as somebody who may not read the node: root may read them all.
func TestLearnWithoutPermission(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	lab, err := testlab.NewHIDTree(root)
	require.NoError(t, err)
	node, err := lab.Plug(testlab.HIDDevice{Node: "hidraw4", Port: "1-3", VID: "1209", PID: "07ab", Name: "Acme Headset 700", Interface: 4, Descriptor: ownReport})
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Unplug() })
	require.NoError(t, os.Chmod(node.Path(), 0))
	for _, f := range []string{root, filepath.Dir(root)} {
		require.NoError(t, os.Chmod(f, 0o755))
	}
	cmd := child(t, privateEnv(t, nil, hidEnv+"="+root), "learn")
	if os.Geteuid() == 0 {
		cmd.Path, cmd.Dir, cmd.SysProcAttr = "/proc/self/exe", "/", asNobody // the folder of this binary may be root's alone
	}
	o := runToEnd(t, cmd)
	require.Equal(t, exitFailed, o.code, o.stderr)
	require.Equal(t, "sidetone: nothing learnt: hidraw4 (Acme Headset 700, 1209:07ab): no permission to read "+node.Path()+
		": run this with sudo, or put this line into /etc/udev/rules.d/70-sidetone-hid.rules and plug the device in again: "+
		`SUBSYSTEM=="hidraw", KERNELS=="*:1209:07AB.*", TAG+="uaccess"`+"\n", o.stderr)
}
