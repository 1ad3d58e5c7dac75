package hidio

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/platform/linux"
	"sidetone/internal/platform/platformtest"
)

func TestDescribeHID(t *testing.T) {
	f := newHIDTree(t)
	const dongle = headsetUSB + "/1-3:1.3/0003:1209:0700.0001"
	for _, c := range []struct {
		name string
		fake fakeHID
		want hid.Device
	}{
		{"an interface of a USB device", headsetHID("hidraw0"), headsetDevice("hidraw0")},
		{
			"a wireless device behind its receiver",
			fakeHID{node: "hidraw1", parent: dongle, id: "0003:1209:0701", uevent: "HID_ID=0003:00001209:00000701\nHID_NAME=Acme Air\nHID_UNIQ=a1-b2\n"},
			hid.Device{Bus: devices.USB, VID: "1209", PID: "0701", Serial: "SN12345", Container: "usb:" + headsetUSB, Interface: 3, Name: "Acme Air"},
		},
		{
			"by Bluetooth, on a USB adapter",
			fakeHID{
				node: "hidraw2", parent: headsetUSB + "/1-3:1.0/bluetooth/hci0/hci0:256", id: "0005:1209:0702",
				uevent: "HID_ID=0005:00001209:00000702\nHID_NAME=Acme BT\nHID_UNIQ=AA:bb:cc:00:11:22\n",
			},
			hid.Device{
				Bus: devices.Bluetooth, VID: "1209", PID: "0702", Serial: "AA:bb:cc:00:11:22",
				Container: "bluetooth:aa:bb:cc:00:11:22", Interface: -1, Name: "Acme BT",
			},
		},
		{
			"by Bluetooth, without an address",
			fakeHID{node: "hidraw3", parent: "virtual/misc/uhid", id: "0005:1209:0702", uevent: "HID_ID=0005:00001209:00000702\n"},
			hid.Device{Bus: devices.Bluetooth, VID: "1209", PID: "0702", Interface: -1},
		},
		{
			"a USB device that a program makes up",
			fakeHID{node: "hidraw4", parent: "virtual/misc/uhid", id: "0003:1209:0703", uevent: "HID_ID=0003:00001209:00000703\nHID_UNIQ=made-up\n"},
			hid.Device{Bus: devices.USB, VID: "1209", PID: "0703", Serial: "made-up", Interface: -1},
		},
		{
			"on another bus",
			fakeHID{node: "hidraw5", parent: "platform/i2c-1/i2c-ACME", id: "0018:06CB:CD50", uevent: "HID_ID=0018:000006CB:0000CD50\n"},
			hid.Device{VID: "06cb", PID: "cd50", Interface: -1},
		},
	} {
		f.list(c.fake)
		id, ok := identify(f.Path("sys/class/hidraw/" + c.fake.node))
		require.True(t, ok, c.name)
		got, err := describe(id.path)
		require.NoError(t, err, c.name)
		c.want.Node = c.fake.node
		require.Equal(t, c.want, got, c.name)
	}
}

func TestParseHIDUevent(t *testing.T) {
	for _, c := range []struct {
		text string
		want hid.Device
		ok   bool
	}{
		{"HID_ID=0003:0000046D:0000C52B\nHID_NAME=A=B\n", hid.Device{Bus: devices.USB, VID: "046d", PID: "c52b", Name: "A=B"}, true},
		{"HID_ID=0005:0000046D:0000C52B", hid.Device{Bus: devices.Bluetooth, VID: "046d", PID: "c52b"}, true},
		{"HID_ID=0003:1:2\nHID_NAME=x\nHID_ID=0005:3:4\n", hid.Device{Bus: devices.USB, VID: "0001", PID: "0002", Name: "x"}, true},
		{"HID_ID=0003:00010001:0000C52B\n", hid.Device{}, false},
		{"HID_ID=0003:046d\n", hid.Device{}, false},
		{"HID_ID=0003:046d:c52b:1\n", hid.Device{}, false},
		{"hid_id=0003:046d:c52b\n", hid.Device{}, false},
		{"", hid.Device{}, false},
	} {
		got, err := parseUevent(c.text)
		require.Equal(t, c.ok, err == nil, c.text)
		require.Equal(t, c.want, got, c.text)
	}
}

func FuzzHIDUevent(f *testing.F) {
	f.Add("DRIVER=hid-generic\nHID_ID=0003:00001209:00000700\nHID_NAME=Acme\nHID_UNIQ=SN1\n")
	f.Add("HID_ID=0005:-1:0x1\n\xff=\n==\n")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := parseUevent(text)
		if err != nil {
			require.Zero(t, u)
			return
		}
		require.Regexp(t, "^[0-9a-f]{4}$", u.VID)
		require.Regexp(t, "^[0-9a-f]{4}$", u.PID)
		require.True(t, utf8.ValidString(u.Name+u.Serial))
		require.NotContains(t, u.Name+u.Serial, "\n")
	})
}

// What a full queue of the kernel means depends on nothing but how many reports come in a row.
func TestHIDLoss(t *testing.T) {
	for _, c := range []struct {
		reports int
		lost    []int // after how many reports
	}{
		{62, nil},
		{63, []int{63}},
		{64, []int{63, 64}},
		{126, []int{63, 126}},
		{130, []int{63, 126, 130}},
	} {
		t.Run(fmt.Sprint(c.reports), func(t *testing.T) {
			platformtest.NoLeak(t)
			f := newHIDTree(t)
			far := f.plug(headsetHID("hidraw0"), strings.Split(strings.Repeat("r", c.reports), "")...)
			h, events := openHID(t, f)
			mustRead(t, h)
			events.expect(t, hid.Attached, "hidraw0")
			var lost []int
			reports := 0
			for reports < c.reports || len(lost) < len(c.lost) {
				switch events.next(t).Kind {
				case hid.Report:
					reports++
				case hid.Lost:
					lost = append(lost, reports)
				}
			}
			require.Equal(t, c.lost, lost)
			far.report("after a pause")
			events.expect(t, hid.Report, "hidraw0")
			require.Empty(t, events)
		})
	}
}

// attachHID returns a source of one device whose requests go to send.
func attachHID(t *testing.T, f hidTree, send sender) (managed, hidEvents) {
	events := newHIDEvents()
	h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
	h.send = send
	mustRead(t, h)
	events.expect(t, hid.Attached, "hidraw0")
	return h, events
}

func TestHIDRequestsInOrder(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	h, events := attachHID(t, f, func(_ int, path string, r hid.Request) ([]byte, error) {
		if path != f.Path("dev/hidraw0") {
			return nil, errors.New("another device")
		}
		switch {
		case len(r.Feature) > 0:
			return []byte{r.Feature[0], byte(r.ID)}, nil
		case len(r.Input) > 0:
			return []byte{r.Input[0], 0x11}, nil
		case len(r.LastOutput) > 0:
			return []byte{r.LastOutput[0], 0x22}, nil
		case r.Output[0] == 9:
			return nil, unix.EPIPE
		}
		return nil, nil
	})
	defer h.Close()
	h.Send(hid.Request{Node: "hidraw1", ID: 1, Feature: []byte{1}, Length: 2})
	h.Send(hid.Request{Node: "hidraw0", ID: 2, Feature: []byte{5}, Length: 2})
	h.Send(hid.Request{Node: "hidraw0", ID: 3, Output: []byte{1, 1}})
	h.Send(hid.Request{Node: "hidraw0", ID: 4, Output: []byte{9, 1}})
	h.Send(hid.Request{Node: "hidraw0", ID: 5, Feature: []byte{6}, Length: 2})
	h.Send(hid.Request{Node: "hidraw0", ID: 6, Input: []byte{7}, Length: 2})
	h.Send(hid.Request{Node: "hidraw0", ID: 7, LastOutput: []byte{8}, Length: 2})
	for _, want := range []hid.Event{
		{Request: 2, Data: []byte{5, 2}},
		{Request: 4, Error: "broken pipe"},
		{Request: 5, Data: []byte{6, 5}},
		{Request: 6, Data: []byte{7, 0x11}},
		{Request: 7, Data: []byte{8, 0x22}},
	} {
		got := events.expect(t, hid.Answer, "hidraw0")
		want.Kind, want.Node, want.At = hid.Answer, "hidraw0", got.At
		require.Equal(t, want, got)
	}
	require.Empty(t, events, "an output report that was written has no answer")
}

// A request may be made by the callback itself, and is answered after it.
func TestHIDRequestFromTheCallback(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	events := newHIDEvents()
	var h managed
	h = newManaged(f.Root, anyHID, func(e hid.Event) {
		if e.Kind == hid.Attached {
			for i := range uint64(3 * maxQueued) {
				h.Send(hid.Request{ID: i, Node: e.Node, Feature: []byte{1}, Length: 2})
			}
		}
		events.handle(e)
	}, platformtest.Quiet())
	h.send = func(_ int, _ string, r hid.Request) ([]byte, error) { return []byte{1}, nil }
	mustRead(t, h)
	defer h.Close()
	events.expect(t, hid.Attached, "hidraw0")
	require.Zero(t, events.expect(t, hid.Answer, "hidraw0").Request)
}

func TestHIDRequestsTooMany(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	begun, proceed := make(chan uint64, 1000), make(chan struct{})
	h, events := attachHID(t, f, func(_ int, _ string, r hid.Request) ([]byte, error) {
		begun <- r.ID
		<-proceed
		return []byte{1}, nil
	})
	defer h.Close()
	ask := func(id uint64) { h.Send(hid.Request{ID: id, Node: "hidraw0", Feature: []byte{1}, Length: 2}) }
	ask(0)
	require.Zero(t, <-begun)
	for i := range uint64(100) {
		ask(i + 1)
	}
	close(proceed)
	for i := range uint64(1 + 2*maxQueued) {
		e := events.expect(t, hid.Answer, "hidraw0")
		require.Equal(t, i, e.Request)
		if i <= maxQueued {
			require.Empty(t, e.Error)
		} else {
			require.Equal(t, "32 requests were already waiting for the device", e.Error)
		}
	}
	ask(200)
	require.EqualValues(t, 200, events.expect(t, hid.Answer, "hidraw0").Request)
	require.Len(t, begun, maxQueued+1)
}

func TestHIDRequestThatHangs(t *testing.T) {
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		var calls atomic.Int32
		events := newHIDEvents()
		h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
		h.send = func(int, string, hid.Request) ([]byte, error) {
			calls.Add(1)
			<-proceed
			return []byte{1}, nil
		}
		conn, err := h.open("hidraw0")
		require.NoError(t, err)
		p := newPort(h.manager, "hidraw0", conn)
		ask := func(id uint64) hid.Event {
			p.enqueue(hid.Request{ID: id, Feature: []byte{1}, Length: 2})
			e := events.expect(t, hid.Answer, "hidraw0")
			require.Equal(t, id, e.Request)
			return e
		}
		require.Contains(t, ask(1).Error, "no answer in time")
		require.Contains(t, ask(2).Error, "an earlier call has not returned")
		require.EqualValues(t, 1, calls.Load(), "what hangs costs one goroutine")
		close(proceed)
		require.Empty(t, ask(3).Error)
		p.close()
	})
}

// Opening a FIFO for writing hangs in the kernel while nobody reads it, as a request does
// while a device does not react.
func TestHIDCloseDuringARequest(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.list(headsetHID("hidraw0"))
	require.NoError(t, unix.Mkfifo(f.Path("dev/hidraw0"), 0o600))
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[1])
	events := newHIDEvents()
	h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
	h.openNode = func(path string) (*os.File, error) { return os.NewFile(uintptr(pair[0]), path), nil }
	begun := make(chan struct{})
	h.send = func(fd int, path string, r hid.Request) ([]byte, error) {
		close(begun)
		return sendRequest(fd, path, r)
	}
	mustRead(t, h)
	events.expect(t, hid.Attached, "hidraw0")
	h.Send(hid.Request{Node: "hidraw0", Output: []byte{1, 2}})
	<-begun
	_, err = unix.Write(pair[1], []byte("muted"))
	require.NoError(t, err)
	require.Equal(t, "muted", string(events.expect(t, hid.Report, "hidraw0").Data))
	require.ErrorContains(t, h.Close(), "the kernel still waits for one of them")

	release, err := os.Open(f.Path("dev/hidraw0"))
	require.NoError(t, err)
	defer release.Close()
	h.working.Wait()
	require.Empty(t, events)
}

// Unplugging ends what is waited for.
func TestHIDUnplugDuringARequest(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	begun, proceed := make(chan struct{}), make(chan struct{})
	h, events := attachHID(t, f, func(int, string, hid.Request) ([]byte, error) {
		close(begun)
		<-proceed
		return []byte{1}, nil
	})
	p := h.ports["hidraw0"]
	for range 3 {
		h.Send(hid.Request{Node: "hidraw0", Feature: []byte{1}, Length: 2})
	}
	<-begun
	f.unlist("hidraw0")
	mustRead(t, h)
	events.expect(t, hid.Gone, "hidraw0")
	p.enqueue(hid.Request{Feature: []byte{1}, Length: 2})
	require.Eventually(t, func() bool {
		p.queueing.Lock()
		defer p.queueing.Unlock()
		return !p.sending && len(p.queue) == 0
	}, 20*time.Second, time.Millisecond, "nothing is sent any more")
	close(proceed)
	require.NoError(t, h.Close())
	require.Empty(t, events)
}

func TestSendHidraw(t *testing.T) {
	f := platformtest.NewSysTree(t)
	path := f.Path("dev/hidraw0")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	node, err := openNode(path)
	require.NoError(t, err)
	defer node.Close()
	report, err := sendRequest(-1, path, hid.Request{Output: []byte{2, 0, 1}})
	require.NoError(t, err)
	require.Nil(t, report)
	got := make([]byte, 8)
	n, err := node.Read(got)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 0, 1}, got[:n])

	for _, c := range []struct {
		name string
		fd   int
		path string
		r    hid.Request
		want string
	}{
		{"no node", -1, path + "1", hid.Request{Output: []byte{1, 2}}, "open " + path + "1: no such file or directory"},
		{"a node that takes nothing", -1, "/dev/full", hid.Request{Output: []byte{1, 2}}, "write the output report 0x01 to /dev/full: no space left on device"},
		{"output first", -1, path + "1", hid.Request{Output: []byte{1, 2}, Feature: []byte{1}, Length: 2}, "open " + path + "1: no such file or directory"},
		{"no HID device", int(node.Fd()), path, hid.Request{Feature: []byte{6}, Length: 8}, "read the feature report 0x06 of " + path + ": inappropriate ioctl for device"},
		{"no HID device to set", int(node.Fd()), path, hid.Request{Feature: []byte{6, 1}, Length: 8}, "set the feature report 0x06 of " + path + ": inappropriate ioctl for device"},
		{"no length", int(node.Fd()), path, hid.Request{Feature: []byte{6}}, "a report has 1 to 8191 bytes: asked to read 0"},
		{"too long", int(node.Fd()), path, hid.Request{Feature: []byte{6}, Length: 8192}, "a report has 1 to 8191 bytes: asked to read 8192"},
		{"too much to set", int(node.Fd()), path, hid.Request{Feature: make([]byte, 8192), Length: 8}, "a feature report has 1 to 8191 bytes: asked to set 8192"},
		{"no HID device to set alone", int(node.Fd()), path, hid.Request{Feature: []byte{6, 1}}, "set the feature report 0x06 of " + path + ": inappropriate ioctl for device"},
		{"no input report", int(node.Fd()), path, hid.Request{Input: []byte{2}, Length: 8}, "read the input report 0x02 of " + path + ": Linux can do this from version 5.11 on: inappropriate ioctl for device"},
		{"no lamp", int(node.Fd()), path, hid.Request{LastOutput: []byte{0}, Length: 8}, "read the output report 0x00 of " + path + ": Linux can do this from version 5.11 on: inappropriate ioctl for device"},
		{"an input report without length", int(node.Fd()), path, hid.Request{Input: []byte{2}}, "a report has 1 to 8191 bytes: asked to read 0"},
	} {
		_, err := sendRequest(c.fd, c.path, c.r)
		require.EqualError(t, err, c.want, c.name)
	}
}

// As linux/hidraw.h has it, for a report of 64 bytes.
func TestHIDIoctlNumbers(t *testing.T) {
	require.Equal(t, uintptr(0xc0404806), linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'H', ioctlSetFeature, 64))
	require.Equal(t, uintptr(0xc0404807), linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'H', getFeature.ioctl, 64))
	require.Equal(t, uintptr(0xc040480a), linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'H', getInput.ioctl, 64))
	require.Equal(t, uintptr(0xc040480c), linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'H', getOutput.ioctl, 64))
}
