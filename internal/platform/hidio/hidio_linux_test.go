package hidio

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
	"sidetone/internal/platform/platformtest"
)

// A hidTree is a platformtest.SysTree with HID devices. Their nodes are FIFOs on which one write is one
// report.
type hidTree struct {
	platformtest.SysTree
	plugged *int // as the kernel counts HID devices
}

func newHIDTree(t *testing.T) hidTree {
	f := hidTree{platformtest.NewSysTree(t), new(int)}
	f.Dir("sys/class/hidraw")
	return f
}

// fakeHID is a HID device to plug in.
type fakeHID struct {
	node       string // hidraw3
	parent     string // folder below sys/devices
	id         string // 0003:1209:0700
	uevent     string
	descriptor string
}

const headsetUSB = "pci0000:00/0000:00:14.0/usb1/1-3"

// headsetHID is the interface with the buttons of a USB headset.
func headsetHID(node string) fakeHID {
	return fakeHID{
		node: node, parent: headsetUSB + "/1-3:1.3", id: "0003:1209:0700", descriptor: "\x05\x0b\x09\x05\xa1\x01\xc0",
		uevent: "DRIVER=hid-generic\nHID_ID=0003:00001209:00000700\nHID_NAME=Acme Headset 700\n" +
			"HID_PHYS=usb-0000:00:14.0-3/input3\nHID_UNIQ=SN12345\nMODALIAS=hid:b0003g0001v00001209p00000700\n",
	}
}

func headsetDevice(node string) hid.Device {
	return hid.Device{
		Node: node, Bus: devices.USB, VID: "1209", PID: "0700", Version: "0104", Serial: "SN12345", Container: "usb:" + headsetUSB, Interface: 3,
		Name: "Acme Headset 700", Descriptor: []byte("\x05\x0b\x09\x05\xa1\x01\xc0"),
	}
}

// connected sets for how long the kernel says that a USB device has been connected, in milliseconds.
func (f hidTree) connected(usb, duration string) {
	f.Device(usb+"/power", map[string]string{"connected_duration": duration})
}

// list makes the device's entries in sysfs. Unless a test says otherwise, it has just been connected to a hub that was there before.
func (f hidTree) list(d fakeHID) {
	*f.plugged++
	f.Device(headsetUSB, map[string]string{
		"idVendor": "1209", "idProduct": "0700", "bcdDevice": "0104", "serial": "SN12345", "product": "Acme Headset 700",
		"bmAttributes": "80",
	})
	for usb, duration := range map[string]string{headsetUSB: "1500", filepath.Dir(headsetUSB): "3600000"} {
		if _, err := os.Stat(f.Path(filepath.Join("sys/devices", usb, "power"))); err != nil {
			f.connected(usb, duration)
		}
	}
	f.Device(headsetUSB+"/1-3:1.3", map[string]string{"bInterfaceNumber": "03"})
	dir := filepath.Join(d.parent, fmt.Sprintf("%s.%04X", d.id, *f.plugged))
	entry := filepath.Join(dir, "hidraw", d.node)
	f.Dir("sys/devices/" + entry)
	for name, text := range map[string]string{"uevent": d.uevent, "report_descriptor": d.descriptor} {
		if text != "" {
			require.NoError(f.T, os.WriteFile(f.Path(filepath.Join("sys/devices", dir, name)), []byte(text), 0o644))
		}
	}
	require.NoError(f.T, os.Symlink("../../../"+filepath.Base(dir), f.Path("sys/devices/"+entry+"/device")))
	require.NoError(f.T, os.Symlink("../../devices/"+entry, f.Path("sys/class/hidraw/"+d.node)))
}

// makeNode makes the device's node and returns its far end. Before the node shows up with its
// mode, some reports may be sent.
func (f hidTree) makeNode(node string, mode os.FileMode, reports ...string) *farEnd {
	path := f.Path(node)
	require.NoError(f.T, unix.Mkfifo(path, uint32(0o600)))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(f.T, err)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_DIRECT) // each write is a packet
	require.NoError(f.T, err)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<20) // room for 256 of them
	require.NoError(f.T, err)
	far := &farEnd{t: f.T, fd: fd}
	f.T.Cleanup(far.close)
	for _, r := range reports {
		far.report(r)
	}
	require.NoError(f.T, os.Chmod(path, mode))
	require.NoError(f.T, os.Rename(path, f.Path("dev/"+node)))
	return far
}

func (f hidTree) plug(d fakeHID, reports ...string) *farEnd {
	f.list(d)
	return f.makeNode(d.node, 0o600, reports...)
}

// unlist removes the device's entries, and its node last: that is what is heard of here.
func (f hidTree) unlist(node string) {
	entry, err := filepath.EvalSymlinks(f.Path("sys/class/hidraw/" + node))
	require.NoError(f.T, err)
	require.NoError(f.T, os.Remove(f.Path("sys/class/hidraw/"+node)))
	require.NoError(f.T, os.RemoveAll(filepath.Dir(filepath.Dir(entry))))
	require.NoError(f.T, os.RemoveAll(f.Path("dev/"+node)))
}

// farEnd is where a device sends its reports.
type farEnd struct {
	t    *testing.T
	fd   int
	once sync.Once
}

func (e *farEnd) report(report string) {
	n, err := unix.Write(e.fd, []byte(report))
	require.NoError(e.t, err)
	require.Equal(e.t, len(report), n)
}

func (e *farEnd) close() { e.once.Do(func() { unix.Close(e.fd) }) }

// managed is a manager with its backend.
type managed struct {
	*manager
	*hidraw
}

// newManaged returns one that is told of nothing.
func newManaged(root string, want Any, handle func(hid.Event), log *slog.Logger) managed {
	b := newHidraw(linux.TreeIn(root), log)
	return managed{newManager(b, want, handle, log), b}
}

func mustRead(t *testing.T, h managed) {
	t.Helper()
	require.NoError(t, readNow(t, h))
}

var anyHID = Any(func(hid.Device) bool { return true })

// openHID returns a source of the tree and what it hands on.
func openHID(t *testing.T, f hidTree) (managed, hidEvents) {
	events := newHIDEvents()
	h, err := New(f.Root, anyHID, events.handle, platformtest.Quiet())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	m := h.(*manager)
	return managed{m, m.backend.(*hidraw)}, events
}

// followHID reads the source as the program does.
func followHID(t *testing.T, src Devices) {
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { platform.Follow(ctx, src, nil, func(devices.Observation) {}) })
	t.Cleanup(func() {
		cancel()
		following.Wait()
	})
}

func TestHIDReportsArriveWholeAndInOrder(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	left, right := f.plug(headsetHID("hidraw2")), f.plug(headsetHID("hidraw11"))
	h, events := openHID(t, f)
	require.Equal(t, "hid", h.Name())
	require.NoError(t, readNow(t, h))
	require.Len(t, events, 2, "what is there is said before Read returns")
	for _, node := range []string{"hidraw2", "hidraw11"} {
		e := events.expect(t, hid.Attached, node)
		require.Equal(t, headsetDevice(node), *e.Device)
		require.False(t, e.Plugged, "it may have been there for long")
	}
	want := map[string][]string{}
	for i := range 100 {
		l, r := string(rune('a'+i%26)), strings.Repeat("r", 1+i*40)
		left.report(l)
		right.report(r)
		want["hidraw2"], want["hidraw11"] = append(want["hidraw2"], l), append(want["hidraw11"], r)
	}
	have := map[string][]string{}
	for len(have["hidraw2"])+len(have["hidraw11"]) < 200 {
		if e := events.next(t); e.Kind == hid.Report {
			have[e.Node] = append(have[e.Node], string(e.Data))
		}
	}
	require.Equal(t, want, have)
	mustRead(t, h)
	require.Empty(t, h.noted())
}

// What waits in the kernel while the agent is stalled may have been sent at any time meanwhile.
func TestHIDReportsThatWaited(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	far := f.plug(headsetHID("hidraw0"))
	events, stalled, proceed := newHIDEvents(), make(chan struct{}), make(chan struct{})
	h := newManaged(f.Root, anyHID, func(e hid.Event) {
		if string(e.Data) == "battery" {
			close(stalled)
			<-proceed
		}
		events.handle(e)
	}, platformtest.Quiet())
	mustRead(t, h)
	defer h.Close()
	events.expect(t, hid.Attached, "hidraw0")
	far.report("first")
	first := events.expect(t, hid.Report, "hidraw0")
	require.False(t, first.Since.IsZero())
	require.False(t, first.Since.After(first.At))
	for { // until it is known that nothing waits
		far.report("next")
		if e := events.expect(t, hid.Report, "hidraw0"); !e.Since.Before(first.At) {
			break
		}
	}
	far.report("battery")
	<-stalled
	sent := []string{"press", "press again"}
	for _, r := range sent {
		far.report(r)
	}
	reported := time.Now()
	close(proceed)
	battery := events.expect(t, hid.Report, "hidraw0")
	for _, want := range sent {
		e := events.expect(t, hid.Report, "hidraw0")
		require.Equal(t, want, string(e.Data))
		require.Equal(t, battery.Since, e.Since, "the queue has not been empty since")
		require.False(t, e.At.Before(reported))
	}
}

func TestHIDHotPlug(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	h, events := openHID(t, f)
	followHID(t, h)
	events.expect(t, hid.Attached, "hidraw0")

	far := f.plug(headsetHID("hidraw1"), "muted")
	require.True(t, events.expect(t, hid.Attached, "hidraw1").Plugged)
	require.Equal(t, "muted", string(events.expect(t, hid.Report, "hidraw1").Data))

	f.unlist("hidraw1")
	require.Empty(t, events.expect(t, hid.Gone, "hidraw1").Error)
	far.close()
	other := headsetHID("hidraw1")
	other.parent = headsetUSB + "/1-3:1.4"
	f.plug(other)
	require.True(t, events.expect(t, hid.Attached, "hidraw1").Plugged)
	require.Empty(t, events)
}

// A program that takes an interface from the kernel's driver and gives it back makes a new HID device of one
// that has had its power all the time.
func TestHIDDriverComesBack(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	h, events := openHID(t, f)
	mustRead(t, h)
	for _, c := range []struct {
		connected string // in milliseconds
		place     string // of the interface
		plugged   bool
	}{
		{"1500", "1-3:1.3", true},
		{"1600", "1-3:1.3", false},
		{"3600000", "1-3:1.4", false},
		{"1700", "1-3:1.5", true},
		{"", "1-3:1.6", false}, // then nobody knows
		{"soon", "1-3:1.7", false},
	} {
		f.connected(headsetUSB, c.connected)
		fake := headsetHID("hidraw0")
		fake.parent = headsetUSB + "/" + c.place
		f.Device(fake.parent, map[string]string{"bInterfaceNumber": "03"})
		far := f.plug(fake)
		mustRead(t, h)
		require.Equal(t, c.plugged, events.expect(t, hid.Attached, "hidraw0").Plugged, c)
		f.unlist("hidraw0")
		mustRead(t, h)
		events.expect(t, hid.Gone, "hidraw0")
		far.close()
	}
}

// It may do so before anybody looks.
func TestHIDDriverComesBackBetweenTwoReads(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	h, events := openHID(t, f)
	mustRead(t, h)
	far := f.plug(headsetHID("hidraw0"))
	mustRead(t, h)
	require.True(t, events.expect(t, hid.Attached, "hidraw0").Plugged)
	f.connected(headsetUSB, "9000")
	f.unlist("hidraw0")
	far.close()
	f.plug(headsetHID("hidraw1"))
	mustRead(t, h)
	events.expectGone(t, "hidraw0")
	require.False(t, events.expect(t, hid.Attached, "hidraw1").Plugged, "it has kept its power, and its mute")
}

// A device that loses its authorization loses its interfaces, and keeps its power.
func TestHIDIsAuthorizedAgain(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	h, events := openHID(t, f)
	mustRead(t, h)
	f.plug(headsetHID("hidraw0"))
	mustRead(t, h)
	require.True(t, events.expect(t, hid.Attached, "hidraw0").Plugged)
	f.unlist("hidraw0")
	require.NoError(t, os.RemoveAll(f.Path("sys/devices/"+headsetUSB+"/1-3:1.3")))
	mustRead(t, h)
	events.expect(t, hid.Gone, "hidraw0")
	f.plug(headsetHID("hidraw0"))
	mustRead(t, h)
	require.False(t, events.expect(t, hid.Attached, "hidraw0").Plugged)
	f.unlist("hidraw0")
	require.NoError(t, os.RemoveAll(f.Path("sys/devices/"+headsetUSB)))
	mustRead(t, h)
	events.expect(t, hid.Gone, "hidraw0")
	f.plug(headsetHID("hidraw0"))
	mustRead(t, h)
	require.True(t, events.expect(t, hid.Attached, "hidraw0").Plugged, "this time it was unplugged")
}

// Only a device that surely had no power before starts anew.
func TestPowerBeforeADeviceArrives(t *testing.T) {
	const pci, virtual = "pci0000:00/0000:00:14.0", "platform/vhci_hcd.0"
	type usb struct{ place, connected, attributes, removable string }
	for _, c := range []struct {
		name    string
		devices []usb // the last is the headset
		want    bool
	}{
		{"plugged into the machine", []usb{{pci + "/usb1", "3600000", "e0", "unknown"}, {pci + "/usb1/1-3", "900", "80", "removable"}}, true},
		{"plugged into a hub", []usb{{pci + "/usb1/1-3", "3600000", "e0", "removable"}, {pci + "/usb1/1-3/1-3.1", "900", "80", "removable"}}, true},
		{"its hub came with it", []usb{{pci + "/usb1/1-3", "2400", "e0", "removable"}, {pci + "/usb1/1-3/1-3.1", "900", "80", "removable"}}, false},
		{
			"a dock of several hubs", []usb{
				{pci + "/usb1/1-3", "9000", "e0", "removable"}, {pci + "/usb1/1-3/1-3.2", "4000", "e0", "fixed"}, {pci + "/usb1/1-3/1-3.2/1-3.2.1", "900", "80", "removable"},
			}, false,
		},
		{"a dock with a controller of its own", []usb{{pci + "/0000:05:00.0/usb3", "4000", "e0", "unknown"}, {pci + "/0000:05:00.0/usb3/3-1", "900", "80", "removable"}}, false},
		{"a headset with a hub in it", []usb{
			{pci + "/usb1", "3600000", "e0", "unknown"}, {pci + "/usb1/1-3", "2400", "a0", "removable"}, {pci + "/usb1/1-3/1-3.1", "900", "80", "fixed"},
		}, true},
		{"a monitor with a microphone in it", []usb{
			{pci + "/usb1", "3600000", "e0", "unknown"}, {pci + "/usb1/1-3", "2400", "e0", "removable"}, {pci + "/usb1/1-3/1-3.1", "900", "80", "fixed"},
		}, false},
		{"a headset with a battery", []usb{{pci + "/usb1", "3600000", "e0", "unknown"}, {pci + "/usb1/1-3", "900", "c0", "removable"}}, false},
		{"a controller of the machine itself", []usb{{virtual + "/usb1", "5000", "e0", "unknown"}, {virtual + "/usb1/1-1", "900", "80", "unknown"}}, true},
		{"nothing is known of its hub", []usb{{pci + "/usb1/1-3", "", "e0", "removable"}, {pci + "/usb1/1-3/1-3.1", "900", "80", "removable"}}, false},
		{"nothing is known of it", []usb{{pci + "/usb1", "3600000", "e0", "unknown"}, {pci + "/usb1/1-3", "", "80", "removable"}}, false},
		{"only its driver is new", []usb{{pci + "/usb1", "3600000", "e0", "unknown"}, {pci + "/usb1/1-3", "31000", "80", "removable"}}, false},
	} {
		f := newHIDTree(t)
		var last string
		for _, u := range c.devices {
			f.Device(u.place, map[string]string{"idVendor": "1209", "idProduct": "0700", "bmAttributes": u.attributes, "removable": u.removable})
			f.connected(u.place, u.connected)
			last = u.place + "/" + filepath.Base(u.place) + ":1.0"
		}
		f.Device(last, map[string]string{"bInterfaceNumber": "00"})
		require.Equal(t, c.want, wasUnpowered(devices.USB, f.Path("sys/devices/"+last)), c.name)
	}
}

// The kernel wakes the reader before it removes the node and its entry.
func TestHIDUnplugIsNoticedByTheReader(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.list(headsetHID("hidraw0"))
	terminal, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(terminal, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(terminal, unix.TIOCGPTN)
	require.NoError(t, err)
	other, err := unix.Open(fmt.Sprintf("/dev/pts/%d", number), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	require.NoError(t, err)

	h, events := openHID(t, f)
	var opened atomic.Int32
	h.openNode = func(path string) (*os.File, error) { // a terminal whose other side is closed gives EIO
		if opened.Add(1) > 1 {
			return nil, &fs.PathError{Op: "open", Path: path, Err: unix.ENODEV}
		}
		return os.NewFile(uintptr(terminal), path), nil
	}
	mustRead(t, h)
	events.expect(t, hid.Attached, "hidraw0")
	unix.Close(other)
	require.Contains(t, events.expect(t, hid.Failed, "hidraw0").Error, "input/output error")

	for len(h.noted()) == 0 { // mostly its entry goes within a moment, and there is nothing to say
		require.NoError(t, h.Wait(platformtest.Deadline(t)), "it looks again")
		mustRead(t, h)
	}
	require.NotZero(t, h.retry, "it is tried again for as long as it is listed")
	require.Equal(t, []string{"hidraw0 (Acme Headset 700, 1209:0700) is left out: open " + f.Path("dev/hidraw0") +
		": no such device; unplug the device and plug it in again"}, health.English.Phrases(h.noted()))
	healthtest.Raised(t, h.noted()...)
	require.LessOrEqual(t, int(opened.Load()), 2+len(openRetries))
	h.Send(hid.Request{Node: "hidraw0", Output: []byte{1, 2}}) // leads nowhere

	// The OS says something of the node: then it is worth a try.
	h.openNode = openNode
	f.makeNode("hidraw0", 0o600)
	require.NoError(t, h.Wait(platformtest.Deadline(t)))
	mustRead(t, h)
	require.False(t, events.expect(t, hid.Attached, "hidraw0").Plugged)
	require.Empty(t, h.noted())
	f.unlist("hidraw0")
	mustRead(t, h)
	events.expect(t, hid.Gone, "hidraw0")
	require.Empty(t, events)
}

func TestHIDReadingThatFails(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	far := f.plug(headsetHID("hidraw0"))
	h, events := openHID(t, f)
	mustRead(t, h)
	events.expect(t, hid.Attached, "hidraw0")
	far.report("last")
	far.close()
	events.expect(t, hid.Report, "hidraw0")
	require.Equal(t, "read "+f.Path("dev/hidraw0")+": unexpected EOF", events.expect(t, hid.Failed, "hidraw0").Error)
	mustRead(t, h)
	require.Empty(t, events, "it is still there")
	f.unlist("hidraw0")
	mustRead(t, h)
	events.expect(t, hid.Gone, "hidraw0")
	mustRead(t, h)
	require.Empty(t, events, "it is gone only once")
}

// Between two Lists a device was unplugged and another one got its node.
func TestHIDNodeReuse(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	old := f.plug(headsetHID("hidraw0"))
	h, events := openHID(t, f)
	mustRead(t, h)
	events.expect(t, hid.Attached, "hidraw0")

	f.unlist("hidraw0")
	other := headsetHID("hidraw0")
	other.parent = headsetUSB + "/1-3:1.4"
	f.Device(other.parent, map[string]string{"bInterfaceNumber": "03"})
	other.uevent = strings.ReplaceAll(other.uevent, "Acme Headset 700", "Another")
	f.plug(other, "new")
	old.report("old")
	events.expect(t, hid.Report, "hidraw0")
	mustRead(t, h)
	events.expect(t, hid.Gone, "hidraw0")
	e := events.expect(t, hid.Attached, "hidraw0")
	require.Equal(t, "Another", e.Device.Name)
	require.True(t, e.Plugged)
	require.Equal(t, "new", string(events.expect(t, hid.Report, "hidraw0").Data))
	old.report("too late")
	mustRead(t, h)
	require.Empty(t, events)
}

// why is why a device is denied, in English.
func why(e hid.Event) string { return health.English.Phrase(*e.Why()) }

func TestHIDWant(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	f.plug(headsetHID("hidraw1"))
	f.list(headsetHID("hidraw2")) // without a node
	h, events := openHID(t, f)
	asked := make(chan hid.Device, 100)
	only := func(nodes ...string) Any {
		return func(d hid.Device) bool {
			asked <- d
			return strings.Contains(strings.Join(nodes, " "), d.Node)
		}
	}
	h.Want(only())
	followHID(t, h)
	require.Equal(t, headsetDevice("hidraw0"), <-asked)

	h.Want(only("hidraw0"))
	require.False(t, events.expect(t, hid.Attached, "hidraw0").Plugged)
	h.Want(only("hidraw1"))
	events.expect(t, hid.Gone, "hidraw0")
	require.False(t, events.expect(t, hid.Attached, "hidraw1").Plugged)
	h.Want(only("hidraw2"))
	events.expect(t, hid.Gone, "hidraw1")
	e := events.expect(t, hid.Denied, "hidraw2")
	require.Contains(t, why(e), "no such file or directory; the node is hidden")
	require.Equal(t, headsetDevice("hidraw2"), *e.Device)
	h.Want(only("hidraw0"))
	events.expect(t, hid.Gone, "hidraw2")
	events.expect(t, hid.Attached, "hidraw0")

	// What arrives but is wanted only later may have been used meanwhile.
	f.plug(headsetHID("hidraw3"))
	for (<-asked).Node != "hidraw3" {
	}
	h.Want(only("hidraw3"))
	events.expect(t, hid.Gone, "hidraw0")
	require.False(t, events.expect(t, hid.Attached, "hidraw3").Plugged)
	require.Empty(t, events)
}

// denying opens what it is allowed to.
type denying struct{ err error }

func (d *denying) open(path string) (*os.File, error) {
	if d.err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: d.err}
	}
	return openNode(path)
}

func TestOpenTroubleIsRecorded(t *testing.T) {
	for _, err := range []error{errBusy, fs.ErrPermission, fs.ErrNotExist, unix.EIO} {
		healthtest.Raised(t, openTrouble("/dev/hidraw0", err).Condition)
	}
}

func TestHIDDenied(t *testing.T) {
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	var log bytes.Buffer
	events := newHIDEvents()
	synctest.Test(t, func(t *testing.T) {
		d := &denying{unix.EACCES}
		h := newManaged(f.Root, anyHID, events.handle, slog.New(slog.NewTextHandler(&log, nil)))
		h.openNode = d.open
		trouble := "no permission to read " + f.Path("dev/hidraw0") + ": install the udev rule ('sidetone catalogue udev FILE' prints it) and plug the device in again"
		for range 3 {
			mustRead(t, h)
			require.Zero(t, h.retry, "no timer runs for what stays as it is")
			require.Equal(t, []string{"hidraw0 (Acme Headset 700, 1209:0700) is left out: " + trouble}, health.English.Phrases(h.noted()))
			healthtest.Raised(t, h.noted()...)
		}
		require.Equal(t, trouble, why(events.expect(t, hid.Denied, "hidraw0")))
		require.Empty(t, events, "once is enough")
		require.Equal(t, 1, strings.Count(log.String(), "HID device left out"))

		// While it goes, its node is gone first.
		d.err = unix.ENOENT
		mustRead(t, h)
		require.Equal(t, openRetries[0], h.retry)
		require.Contains(t, health.English.Phrases(h.noted())[0], trouble, "what was said stands for the moment")
		time.Sleep(openRetries[2])
		mustRead(t, h)
		require.Zero(t, h.retry)
		require.Contains(t, why(events.expect(t, hid.Denied, "hidraw0")), "no such file or directory")

		d.err = nil
		mustRead(t, h)
		require.False(t, events.expect(t, hid.Attached, "hidraw0").Plugged)
		require.Empty(t, h.noted())
		require.NoError(t, h.Close())
	})
}

// udev sets the access to a node a moment after the kernel has made it.
func TestHIDAccessComesLate(t *testing.T) {
	f := newHIDTree(t)
	events := newHIDEvents()
	synctest.Test(t, func(t *testing.T) {
		d := &denying{unix.EACCES}
		h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
		h.openNode = d.open
		mustRead(t, h)
		f.plug(headsetHID("hidraw0"))
		start := time.Now()
		for _, at := range openRetries {
			mustRead(t, h)
			require.Empty(t, h.noted())
			require.Empty(t, events)
			require.NoError(t, h.Wait(t.Context()))
			require.Equal(t, at, time.Since(start))
		}
		mustRead(t, h)
		require.Zero(t, h.retry)
		events.expect(t, hid.Denied, "hidraw0")
		d.err = nil
		mustRead(t, h)
		require.False(t, events.expect(t, hid.Attached, "hidraw0").Plugged, "it has been there for a while")
		require.NoError(t, h.Close())
	})
	synctest.Test(t, func(t *testing.T) {
		d := &denying{unix.EACCES}
		h := newManaged(f.Root, func(d hid.Device) bool { return d.Node == "hidraw1" }, events.handle, platformtest.Quiet())
		h.openNode = d.open
		mustRead(t, h)
		f.plug(headsetHID("hidraw1"))
		mustRead(t, h)
		d.err = nil
		require.NoError(t, h.Wait(t.Context()))
		mustRead(t, h)
		require.True(t, events.expect(t, hid.Attached, "hidraw1").Plugged)
		require.NoError(t, h.Close())
	})
	f.unlist("hidraw0")
	f.unlist("hidraw1")
	f.connected(headsetUSB, "3600000")
	synctest.Test(t, func(t *testing.T) { // only its driver is new, and its node is as new as another's
		d := &denying{unix.EACCES}
		h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
		h.openNode = d.open
		mustRead(t, h)
		f.plug(headsetHID("hidraw2"))
		mustRead(t, h)
		require.Equal(t, openRetries[0], h.retry)
		require.Empty(t, events, "udev has not set its access yet")
		d.err = nil
		require.NoError(t, h.Wait(t.Context()))
		mustRead(t, h)
		require.False(t, events.expect(t, hid.Attached, "hidraw2").Plugged)
		require.NoError(t, h.Close())
	})
	require.Empty(t, events)
}

// The kernel opens a device only when it has dealt with any request to any other.
func TestHIDOpeningThatHangs(t *testing.T) {
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	f.plug(headsetHID("hidraw1"))
	events := newHIDEvents()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
		opened := 0
		h.openNode = func(path string) (*os.File, error) {
			if filepath.Base(path) == "hidraw0" {
				opened++
				<-release
				return openNode(path)
			}
			return nil, unix.EACCES
		}
		mustRead(t, h)
		events.expect(t, hid.Denied, "hidraw1") // costs nothing
		for h.retry != 0 {
			require.NoError(t, h.Wait(t.Context()))
			mustRead(t, h)
		}
		require.Equal(t, "its driver does not answer; unplug the device and plug it in again", why(events.expect(t, hid.Denied, "hidraw0")))
		start := time.Now()
		mustRead(t, h)
		require.Zero(t, time.Since(start), "nobody waits twice")

		close(release)
		require.NoError(t, h.Wait(t.Context()), "the late success makes the source look again")
		mustRead(t, h)
		events.expect(t, hid.Attached, "hidraw0")
		require.Equal(t, 1, opened)
		require.Len(t, h.noted(), 1)
		require.NoError(t, h.Close())
	})
}

// A device that takes its time to fail is not opened without end.
func TestHIDOpeningThatHangsAndFails(t *testing.T) {
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	events := newHIDEvents()
	synctest.Test(t, func(t *testing.T) {
		h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
		var opened atomic.Int32
		h.openNode = func(string) (*os.File, error) {
			opened.Add(1)
			time.Sleep(5 * time.Second)
			return nil, unix.EIO
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		platform.Follow(ctx, h, nil, func(devices.Observation) {})
		require.LessOrEqual(t, int(opened.Load()), 2)
		require.Contains(t, why(events.expect(t, hid.Denied, "hidraw0")), "does not answer")
		require.Contains(t, why(events.expect(t, hid.Denied, "hidraw0")), "input/output error")
	})
	require.Empty(t, events)
}

func TestHIDCloseWhileOpening(t *testing.T) {
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"))
	events := newHIDEvents()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newManaged(f.Root, anyHID, events.handle, platformtest.Quiet())
		h.openNode = func(path string) (*os.File, error) {
			<-release
			return openNode(path)
		}
		var listing sync.WaitGroup
		listing.Go(func() { readNow(t, h) })
		synctest.Wait()
		require.ErrorContains(t, h.Close(), "the kernel still waits")
		listing.Wait()
		close(release)
	})
	require.Empty(t, events)
}

func TestHIDClose(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	far := f.plug(headsetHID("hidraw0"))
	h, events := openHID(t, f)
	mustRead(t, h)
	events.expect(t, hid.Attached, "hidraw0")
	port := h.ports["hidraw0"]
	require.NoError(t, h.Close())
	require.NoError(t, h.Close(), "twice does no harm")
	far.report("unread")
	port.emit(hid.Event{Kind: hid.Report})
	h.Send(hid.Request{Node: "hidraw0", Feature: []byte{1}, Length: 2})
	err := readNow(t, h)
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, h.Wait(t.Context()), os.ErrClosed)
	require.Empty(t, events)
}

// A callback under way is waited for, and is the last one.
func TestHIDCloseWaitsForTheCallback(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.plug(headsetHID("hidraw0"), "one", "two", "three")
	entered, proceed := make(chan hid.Event), make(chan struct{})
	var returned, entries atomic.Int32
	h := newManaged(f.Root, anyHID, func(e hid.Event) {
		entries.Add(1)
		if e.Kind == hid.Report {
			entered <- e
			<-proceed
		}
		returned.Add(1)
	}, platformtest.Quiet())
	mustRead(t, h)
	<-entered
	closing := make(chan error, 1)
	go func() { closing <- h.Close() }()
	<-h.ctx.Done()
	require.Empty(t, closing)
	close(proceed)
	go func() { // in case that the next report came first
		for range entered {
		}
	}()
	require.NoError(t, <-closing)
	require.Equal(t, entries.Load(), returned.Load())
	close(entered)
}

func TestHIDStorm(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	far := f.plug(headsetHID("hidraw0"))
	h, events := openHID(t, f)
	mustRead(t, h)
	events.expect(t, hid.Attached, "hidraw0")
	const reports = 100_000
	go func() {
		for i := range reports {
			far.report(fmt.Sprint(i))
		}
	}()
	for i := 0; i < reports; {
		e := events.next(t)
		if e.Kind == hid.Report {
			require.Equal(t, fmt.Sprint(i), string(e.Data))
			i++
		}
	}
}

func TestHIDNoneIsNotUnknown(t *testing.T) {
	none := newHIDTree(t)
	require.NoError(t, os.Remove(none.Path("sys/class/hidraw")))
	h := newManaged(none.Root, anyHID, nil, platformtest.Quiet())
	require.NoError(t, readNow(t, h))

	noSysfs := t.TempDir()
	h = newManaged(noSysfs, anyHID, nil, platformtest.Quiet())
	err := readNow(t, h)
	require.ErrorContains(t, err, filepath.Join(noSysfs, "sys/class"))
	require.Equal(t, readRetry, h.retry)

	_, err = New(filepath.Join(noSysfs, "absent"), anyHID, nil, platformtest.Quiet())
	require.ErrorIs(t, err, os.ErrNotExist)
	file := none.Path("file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = New(file, anyHID, nil, platformtest.Quiet())
	require.ErrorContains(t, err, "not a folder")
}

func TestHIDWithoutWatching(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	require.NoError(t, os.Remove(f.Path("dev")))
	h, events := openHID(t, f)
	mustRead(t, h)
	require.Contains(t, health.English.Phrases(h.noted())[0], "a change of access to a HID device goes unnoticed")
	healthtest.Raised(t, h.noted()...)
	require.Empty(t, events)
}

// What sysfs cannot tell does not stop what it can.
func TestHIDGarbage(t *testing.T) {
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	silent, odd, broken, big, plain := headsetHID("hidraw0"), headsetHID("hidraw1"), headsetHID("hidraw2"), headsetHID("hidraw3"), headsetHID("hidraw4")
	silent.uevent = ""
	odd.uevent = "HID_ID=zz:\xff:\n"
	broken.uevent, broken.descriptor = "HID_ID=0003:00001209:00000700\nHID_NAME=\xff\xfeAcme\xff\x00\nHID_NAME=again\nnothing\n=\n", ""
	big.descriptor = strings.Repeat("\xff", 1<<20)
	for _, d := range []fakeHID{silent, odd, broken, big, plain} {
		f.plug(d)
	}
	f.Dir("sys/class/hidraw/hidraw")
	require.NoError(t, os.Symlink("../../devices/gone", f.Path("sys/class/hidraw/hidraw5")))
	f.Dir("sys/class/hidraw/hidraw6")
	h, events := openHID(t, f)
	mustRead(t, h)

	e := events.expect(t, hid.Attached, "hidraw2")
	require.Equal(t, "Acme\x00", e.Device.Name)
	require.Empty(t, e.Device.Descriptor)
	require.Empty(t, events.expect(t, hid.Attached, "hidraw3").Device.Descriptor, "no device has such a descriptor")
	events.expect(t, hid.Attached, "hidraw4")
	require.Empty(t, events)
	require.Len(t, h.noted(), 3)
	require.Contains(t, health.English.Phrases(h.noted())[0], "hidraw0 is left out: what it is cannot be read: open ")
	healthtest.Raised(t, h.noted()...)
	require.Contains(t, health.English.Phrases(h.noted())[1], `hidraw1 is left out: its HID_ID "zz::" is not bus:vendor:product`)
}

const nobodyID = 65534

// Without permission, then with it: to be seen by a user whom modes bind.
func TestHIDWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "TMPDIR=/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.NotContains(t, string(out), "SKIP")
		return
	}
	platformtest.NoLeak(t)
	f := newHIDTree(t)
	f.list(headsetHID("hidraw0"))
	far := f.makeNode("hidraw0", 0)
	h, events := openHID(t, f)
	followHID(t, h)
	e := events.expect(t, hid.Denied, "hidraw0")
	require.Contains(t, why(e), "no permission to read "+f.Path("dev/hidraw0")+": install the udev rule")
	require.Equal(t, headsetDevice("hidraw0"), *e.Device)

	require.NoError(t, os.Chmod(f.Path("dev/hidraw0"), 0o400))
	require.False(t, events.expect(t, hid.Attached, "hidraw0").Plugged)
	far.report("muted")
	require.Equal(t, "muted", string(events.expect(t, hid.Report, "hidraw0").Data))
	h.Send(hid.Request{ID: 7, Node: "hidraw0", Output: []byte{1, 2}})
	e = events.expect(t, hid.Answer, "hidraw0")
	require.Contains(t, e.Error, "no permission to write "+f.Path("dev/hidraw0"))
	require.EqualValues(t, 7, e.Request)
}
