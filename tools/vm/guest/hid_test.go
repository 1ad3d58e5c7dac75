//go:build vmtest

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/testlab"
	"sidetone/tools/fakehid"
	"sidetone/tools/fakeusb"
)

// A hidDevice is a HID device that exists in the kernel only: unlike a headset's telephony interface it may claim any bus
// and have any descriptor, and it brings no sound.
type hidDevice struct {
	*fakehid.Device
	path string // of its hidraw node in sysfs
}

// createHID makes a HID device and waits until its node can be used. It is removed at the end of the test. It gets a Phys
// that no other device has, to find its node by; the rest is up to the test.
func createHID(t *testing.T, o fakehid.Options) hidDevice {
	t.Helper()
	o.Phys = "fakehid-" + serial()
	made, err := fakehid.Create(o)
	require.NoError(t, err)
	d := hidDevice{Device: made}
	t.Cleanup(func() { require.NoError(t, d.Destroy()) })
	testlab.Eventually(t, "the hidraw node of "+o.Phys, func() bool {
		d.path = nodeOf(o.Phys)
		return d.path != ""
	})
	run(t, "udevadm", "wait", "--timeout=60", d.path)
	return d
}

// nodeOf finds the hidraw node of a device of fakehid, empty while there is none.
func nodeOf(phys string) string {
	nodes, err := filepath.Glob("/sys/devices/virtual/misc/uhid/*/hidraw/hidraw*")
	if err != nil {
		return ""
	}
	for _, node := range nodes {
		uevent, err := os.ReadFile(filepath.Join(node, "device/uevent"))
		if err == nil && strings.Contains(string(uevent), "HID_PHYS="+phys+"\n") {
			return node
		}
	}
	return ""
}

// telephony waits for the hidraw node of a headset's telephony interface and returns its place in sysfs.
func (d *device) telephony() string {
	d.t.Helper()
	return d.node("*:1.3/*/hidraw/hidraw*")
}

// press presses the mute button of a headset's telephony interface; see fakeusb.PhoneMute for what on means.
func (d *device) press(on bool) {
	d.t.Helper()
	d.do(fakeusb.Command{Do: fakeusb.DoPhoneMute, On: on})
}

// A hidReader reads a hidraw node: an opinion that is independent of the agent's own HID code.
type hidReader struct {
	t *testing.T
	*os.File
}

func readHID(t *testing.T, path string) hidReader {
	t.Helper()
	file, err := os.OpenFile(devNode(path), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	require.NoError(t, file.SetReadDeadline(time.Now().Add(patience)))
	return hidReader{t, file}
}

// devNode is the node in /dev for one in sysfs.
func devNode(path string) string { return filepath.Join("/dev", filepath.Base(path)) }

// report is the next input report.
func (r hidReader) report() []byte {
	r.t.Helper()
	report := make([]byte, 4096)
	n, err := r.Read(report)
	require.NoError(r.t, err)
	return report[:n]
}

// end reads on until that fails, as it must when the device goes, and then gives the error.
func (r hidReader) end() <-chan error {
	failed := make(chan error, 1)
	go func() {
		var err error
		for report := make([]byte, 4096); err == nil; {
			_, err = r.Read(report)
		}
		failed <- err
	}()
	return failed
}

// The feature report ioctls of linux/hidraw.h: HIDIOCSFEATURE and HIDIOCGFEATURE.
const (
	setFeature = 0x06
	getFeature = 0x07
)

// feature sends a feature report or, with its number in the first byte, fetches it into report.
func (r hidReader) feature(which uintptr, report []byte) (n int, err error) {
	r.t.Helper()
	const readWrite = 3
	request := readWrite<<30 | uintptr(len(report))<<16 | 'H'<<8 | which
	conn, err := r.SyscallConn()
	require.NoError(r.t, err)
	require.NoError(r.t, conn.Control(func(fd uintptr) {
		got, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(&report[0])))
		n = int(got)
		if errno != 0 {
			err = errno
		}
	}))
	return n, err
}

func TestPhoneMute(t *testing.T) {
	onceIsEnough(t)
	press, release, unmute := []byte{1, 0x02}, []byte{1, 0x00}, []byte{1, 0x06}
	for _, c := range []struct {
		encoding  fakeusb.PhoneMute
		usage     []byte // as the report descriptor has it
		on, again [][]byte
		off       [][]byte
	}{
		{
			fakeusb.PhoneMuteMomentary,
			[]byte{0x09, 0x2f, 0x81, 0x06},
			[][]byte{press, release},
			[][]byte{press, release},
			[][]byte{press, release},
		},
		{fakeusb.PhoneMuteLevel, []byte{0x09, 0x2f, 0x81, 0x22}, [][]byte{press}, [][]byte{press}, [][]byte{release}},
		{
			fakeusb.PhoneMuteTwoButtons,
			[]byte{0x15, 0xff, 0x75, 0x02, 0x09, 0x2f, 0x81, 0x26},
			[][]byte{press, release},
			[][]byte{press, release},
			[][]byte{unmute, release},
		},
	} {
		t.Run(string(c.encoding), func(t *testing.T) {
			spec := headset()
			spec.PhoneMute = c.encoding
			d := plug(t, 0, spec)
			node := d.telephony()
			uevent, err := os.ReadFile(filepath.Join(node, "device/uevent"))
			require.NoError(t, err)
			require.Contains(t, string(uevent), "HID_ID=0003:00001209:00000700\n")
			require.Contains(t, string(uevent), "HID_UNIQ="+d.spec.Serial+"\n")
			descriptor, err := os.ReadFile(filepath.Join(node, "device/report_descriptor"))
			require.NoError(t, err)
			require.Contains(t, string(descriptor), string(c.usage))

			reader := readHID(t, node)
			for _, step := range []struct {
				on   bool
				want [][]byte
			}{{true, c.on}, {true, c.again}, {false, c.off}} {
				d.press(step.on)
				for _, want := range step.want {
					require.Equal(t, want, reader.report())
				}
			}
			require.Empty(t, d.state().Requests, "neither the kernel nor the agent asks or tells the device anything")

			muteLamp := []byte{1, 1 << 1}
			_, err = reader.Write(muteLamp)
			require.NoError(t, err)
			require.Equal(t, muteLamp[1], d.state().Lamps)
			require.Equal(t, []string{"set output 0102"}, d.state().Requests, "what is written does not go unseen")

			end := reader.end()
			d.unplug()
			require.ErrorIs(t, <-end, unix.EIO, "a reader learns that the device is gone")
		})
	}
}

// vendorReports is a vendor's own descriptor: input report 1 of two bytes, output report 2 of one and feature report 3 of
// two.
var vendorReports = []byte{
	0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, // vendor-defined application
	0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, // bytes
	0x85, 0x01, 0x95, 0x02, 0x09, 0x02, 0x81, 0x02,
	0x85, 0x02, 0x95, 0x01, 0x09, 0x03, 0x91, 0x02,
	0x85, 0x03, 0x95, 0x02, 0x09, 0x04, 0xb1, 0x02,
	0xc0,
}

func TestHIDDevice(t *testing.T) {
	feature := []byte{3, 0x11, 0x22}
	d := createHID(t, fakehid.Options{
		Bus: fakehid.Bluetooth, Vendor: 0x1209, Product: 0x0701, Name: "Acme Dongle", Uniq: "00:11:22:33:44:55",
		Descriptor: vendorReports,
		Answer: func(r fakehid.Request) ([]byte, error) {
			if r.Number != feature[0] {
				return nil, fmt.Errorf("there is no report %d", r.Number)
			}
			if r.Kind == fakehid.Set {
				copy(feature, r.Report)
			}
			return feature, nil
		},
	})
	uevent, err := os.ReadFile(filepath.Join(d.path, "device/uevent"))
	require.NoError(t, err)
	for _, line := range []string{
		"HID_ID=0005:00001209:00000701", "HID_NAME=Acme Dongle", "HID_UNIQ=00:11:22:33:44:55",
	} {
		require.Contains(t, string(uevent), line+"\n")
	}
	descriptor, err := os.ReadFile(filepath.Join(d.path, "device/report_descriptor"))
	require.NoError(t, err)
	require.Equal(t, vendorReports, descriptor)

	reader := readHID(t, d.path)
	for i := range byte(3) {
		require.NoError(t, d.Send([]byte{1, i, 0xff}))
		require.Equal(t, []byte{1, i, 0xff}, reader.report())
	}
	require.Empty(t, d.Requests())

	_, err = reader.Write([]byte{2, 0x42})
	require.NoError(t, err)
	_, err = reader.feature(setFeature, []byte{3, 0x33, 0x44})
	require.NoError(t, err)
	got := []byte{3, 0, 0}
	n, err := reader.feature(getFeature, got)
	require.NoError(t, err)
	require.Equal(t, []byte{3, 0x33, 0x44}, got[:n])
	_, err = reader.feature(getFeature, []byte{4, 0, 0})
	require.ErrorIs(t, err, unix.EIO)
	require.Equal(t, []fakehid.Request{
		{Kind: fakehid.Output, Type: fakehid.OutputReport, Number: 2, Report: []byte{2, 0x42}},
		{Kind: fakehid.Set, Type: fakehid.FeatureReport, Number: 3, Report: []byte{3, 0x33, 0x44}},
		{Kind: fakehid.Get, Type: fakehid.FeatureReport, Number: 3},
		{Kind: fakehid.Get, Type: fakehid.FeatureReport, Number: 4},
	}, d.Requests())
}

func TestHIDDeviceGoesWhileItIsRead(t *testing.T) {
	d := createHID(t, fakehid.Options{Vendor: 0x1209, Product: 0x0700, Descriptor: vendorReports})
	reader := readHID(t, d.path)
	end := reader.end()
	require.NoError(t, d.Send([]byte{1, 2, 3}))
	require.NoError(t, d.Destroy())
	require.ErrorIs(t, <-end, unix.EIO)
	testlab.Eventually(t, "the node to go", func() bool {
		_, err := os.Stat(devNode(d.path))
		return os.IsNotExist(err)
	})
}
