package camera

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
)

// A tree is a system with cameras.
type tree struct{ platformtest.SysTree }

func newTree(t *testing.T) tree {
	f := tree{platformtest.NewSysTree(t)}
	f.Dir("sys/class/video4linux")
	return f
}

// node makes the video node of a device: sysfs entry, class link and a file in dev.
func (f tree) node(device, name, label string) {
	entry := filepath.Join(device, "video4linux", name)
	f.Device(entry, map[string]string{"name": label})
	link := f.Path("sys/class/video4linux/" + name)
	require.NoError(f.T, os.Symlink(filepath.Join("../../devices", entry), link))
	require.NoError(f.T, os.WriteFile(f.Path("dev/"+name), nil, 0o644))
}

func (f tree) unplug(name string) {
	entry, err := filepath.EvalSymlinks(f.Path("sys/class/video4linux/" + name))
	require.NoError(f.T, err)
	require.NoError(f.T, os.Remove(f.Path("sys/class/video4linux/"+name)))
	require.NoError(f.T, os.RemoveAll(entry))
	require.NoError(f.T, os.Remove(f.Path("dev/"+name)))
}

// drivers answers for the nodes of a tree as their drivers would, and counts the questions.
type drivers struct {
	answers map[string]func() (videoNode, error)
	asked   map[string]*atomic.Int32
}

func (d drivers) query(path string) (videoNode, error) {
	name := filepath.Base(path)
	d.asked[name].Add(1)
	if _, err := os.Stat(path); err != nil {
		return videoNode{}, err
	}
	return d.answers[name]()
}

func answering(nodes map[string]videoNode) drivers {
	d := drivers{map[string]func() (videoNode, error){}, map[string]*atomic.Int32{}}
	for name, node := range nodes {
		d.set(name, func() (videoNode, error) { return node, nil })
	}
	return d
}

func (d drivers) set(name string, answer func() (videoNode, error)) {
	d.answers[name] = answer
	if d.asked[name] == nil {
		d.asked[name] = new(atomic.Int32)
	}
}

const brioUSB = "pci0000:00/0000:00:14.0/usb1/1-3"

// brio plugs in a UVC camera: a capture node and a metadata node of one USB device.
func (f tree) brio() {
	f.Device(brioUSB, map[string]string{"idVendor": "046d", "idProduct": "085e", "serial": "AB12CD34", "product": "Logitech BRIO"})
	f.Device(brioUSB+"/1-3:1.0", map[string]string{"bInterfaceClass": "0e"})
	f.node(brioUSB+"/1-3:1.0", "video0", "Logitech BRIO: Logitech BRIO")
	f.node(brioUSB+"/1-3:1.0", "video1", "Logitech BRIO: Logitech BRIO")
}

var (
	brioNode = videoNode{Driver: "uvcvideo", Card: "Logitech BRIO: Logitech BRIO", BusInfo: "usb-0000:00:14.0-3", Capture: true}
	brioMeta = videoNode{Driver: "uvcvideo", Card: "Logitech BRIO: Logitech BRIO", BusInfo: "usb-0000:00:14.0-3"}
)

func TestCameraKinds(t *testing.T) {
	f := newTree(t)
	f.brio()
	f.Device("pci0000:00/0000:00:05.0", map[string]string{"vendor": "0x8086", "device": "0x4e19"})
	f.node("pci0000:00/0000:00:05.0", "video10", "Intel IPU6 ISYS Capture 0")
	f.node("platform/vivid.0", "video2", "vivid-000-vid-cap")
	f.node("platform/vivid.0", "video3", "vivid-000-vid-out")
	f.node("virtual", "video4", "OBS Virtual Camera")
	f.node("platform/soc/fe801000.csi", "video5", "unicam-image")
	f.node("pci0000:00/0000:00:14.0", "radio0", "a tuner")
	require.NoError(t, os.Symlink("../../devices/gone/video4linux/video6", f.Path("sys/class/video4linux/video6")))
	f.Dir("sys/class/video4linux/videos")
	source := newSource(linux.TreeIn(f.Root), answering(map[string]videoNode{
		"video0":  brioNode,
		"video1":  brioMeta,
		"video2":  {Driver: "vivid", Card: "vivid", BusInfo: "platform:vivid-000", Capture: true},
		"video3":  {Driver: "vivid", Card: "vivid", BusInfo: "platform:vivid-000"},
		"video4":  {Driver: "v4l2 loopback", Card: "OBS Virtual Camera", BusInfo: "platform:v4l2loopback-000", Capture: true},
		"video5":  {Driver: "unicam", BusInfo: "platform:fe801000.csi", Capture: true},
		"video10": {Driver: "isys", Card: "ipu6", BusInfo: "PCI:0000:00:05.0", Capture: true},
	}).query, platformtest.Quiet())

	got, err := platformtest.List(t, source)
	require.NoError(t, err)
	seen := []string{"v4l2"}
	require.Equal(t, []devices.Endpoint{
		{
			ID: "/dev/video0", Type: devices.VideoInput, Name: "Logitech BRIO: Logitech BRIO", Bus: devices.USB, VID: "046d", PID: "085e",
			Serial: "AB12CD34", Container: "usb:" + brioUSB, BusInfo: "usb-0000:00:14.0-3", SeenBy: seen,
		},
		{ID: "/dev/video2", Type: devices.VideoInput, Name: "vivid", Bus: devices.Virtual, Virtual: true, BusInfo: "platform:vivid-000", SeenBy: seen},
		{ID: "/dev/video4", Type: devices.VideoInput, Name: "OBS Virtual Camera", Bus: devices.Virtual, Virtual: true, BusInfo: "platform:v4l2loopback-000", SeenBy: seen},
		{ID: "/dev/video5", Type: devices.VideoInput, Name: "unicam-image", BusInfo: "platform:fe801000.csi", SeenBy: seen},
		{ID: "/dev/video10", Type: devices.VideoInput, Name: "ipu6", Bus: devices.PCI, BusInfo: "PCI:0000:00:05.0", SeenBy: seen},
	}, got)
	require.Empty(t, source.noted())
}

func TestCameraNoneIsNotUnknown(t *testing.T) {
	none := newTree(t)
	require.NoError(t, os.Remove(none.Path("sys/class/video4linux")))
	got, err := platformtest.List(t, newSource(linux.TreeIn(none.Root), answering(nil).query, platformtest.Quiet()))
	require.NoError(t, err)
	require.Empty(t, got)

	noSysfs := t.TempDir()
	_, err = platformtest.List(t, newSource(linux.TreeIn(noSysfs), answering(nil).query, platformtest.Quiet()))
	require.ErrorContains(t, err, filepath.Join(noSysfs, "sys/class"))

	unreadable := newTree(t)
	require.NoError(t, os.Remove(unreadable.Path("sys/class/video4linux")))
	require.NoError(t, os.WriteFile(unreadable.Path("sys/class/video4linux"), nil, 0o644))
	source := newSource(linux.TreeIn(unreadable.Root), answering(nil).query, platformtest.Quiet())
	_, err = platformtest.List(t, source)
	require.ErrorContains(t, err, "list cameras")
	require.Equal(t, listRetry, source.retry)

	_, err = New(filepath.Join(noSysfs, "absent"), platformtest.Quiet())
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = New(unreadable.Path("sys/class/video4linux"), platformtest.Quiet())
	require.ErrorContains(t, err, "not a folder")
}

// Opening a camera wakes it, hence one question for each time it is plugged in.
func TestCameraIsAskedOncePerPresence(t *testing.T) {
	f := newTree(t)
	f.brio()
	d := answering(map[string]videoNode{"video0": brioNode, "video1": brioMeta})
	source := newSource(linux.TreeIn(f.Root), d.query, platformtest.Quiet())
	for range 3 {
		got, err := platformtest.List(t, source)
		require.NoError(t, err)
		require.Len(t, got, 1)
	}
	require.EqualValues(t, 1, d.asked["video0"].Load())
	require.EqualValues(t, 1, d.asked["video1"].Load())

	f.unplug("video0")
	got, err := platformtest.List(t, source)
	require.NoError(t, err)
	require.Empty(t, got)
	f.node(brioUSB+"/1-3:1.0", "video0", "another camera")
	d.set("video0", func() (videoNode, error) { return videoNode{Card: "another camera", Capture: true}, nil })
	got, err = platformtest.List(t, source)
	require.NoError(t, err)
	require.Equal(t, "another camera", got[0].Name)
}

// A node of v4l2loopback with exclusive_caps is an output until a program writes to it, and a camera from then on, without any event.
func TestCameraThatBecomesOneIsAskedForEachList(t *testing.T) {
	f := newTree(t)
	f.brio()
	f.node("virtual", "video4", "OBS Virtual Camera")
	node := videoNode{Driver: "v4l2 loopback", Card: "OBS Virtual Camera", BusInfo: "platform:v4l2loopback-000"}
	d := answering(map[string]videoNode{"video0": brioNode, "video1": brioMeta})
	d.set("video4", func() (videoNode, error) { return node, nil })
	source := newSource(linux.TreeIn(f.Root), d.query, platformtest.Quiet())
	defer source.Close()
	for _, node.Capture = range []bool{false, true, false} {
		var ids []string
		for _, e := range platformtest.MustList(t, source) {
			ids = append(ids, e.ID)
		}
		if node.Capture {
			require.Equal(t, []string{"/dev/video0", "/dev/video4"}, ids)
		} else {
			require.Equal(t, []string{"/dev/video0"}, ids)
		}
	}
	require.EqualValues(t, 1, d.asked["video0"].Load(), "a real camera is not woken")
}

// It becomes one when a program writes its first frame, and ceases to be one when that program ends.
func TestCameraThatBecomesOneIsNoticed(t *testing.T) {
	platformtest.NoLeak(t)
	f := newTree(t)
	f.node("virtual", "video4", "OBS Virtual Camera")
	var captures atomic.Bool
	d := answering(nil)
	d.set("video4", func() (videoNode, error) {
		return videoNode{Driver: "v4l2 loopback", Card: "OBS Virtual Camera", BusInfo: "platform:v4l2loopback-000", Capture: captures.Load()}, nil
	})
	source := newSource(linux.TreeIn(f.Root), d.query, platformtest.Quiet())
	wait := func() { require.NoError(t, source.Wait(platformtest.Deadline(t))) }
	require.Empty(t, platformtest.MustList(t, source))
	wait() // it was not watched before
	require.Empty(t, platformtest.MustList(t, source))
	require.Empty(t, source.changed)

	captures.Store(true)
	producer, err := os.OpenFile(f.Path("dev/video4"), os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = producer.WriteString("frame")
	require.NoError(t, err)
	wait()
	require.Len(t, platformtest.MustList(t, source), 1)
	require.Empty(t, source.noted())

	captures.Store(false)
	require.NoError(t, producer.Close())
	for wait(); len(platformtest.MustList(t, source)) > 0; wait() { // what came before may wake it, too
	}
	require.NoError(t, source.Close())
}

// A watch ends with its first event, so one that is new again has had one.
func TestProducersAreNoticedAndNothingElse(t *testing.T) {
	platformtest.NoLeak(t)
	path := filepath.Join(t.TempDir(), "video4")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	notified := signal.New()
	w, err := watchProducers(notified.Notify)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	event := func(fed bool) bool {
		t.Helper()
		isNew, err := w.arm(path, fed)
		require.NoError(t, err)
		return isNew
	}
	require.True(t, event(false))
	require.False(t, event(false))
	_, err = os.ReadFile(path)
	require.NoError(t, err)
	require.False(t, event(false), "a question, or a program that films")

	producer, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.False(t, event(false), "nothing is written yet")
	_, err = producer.WriteString("frame")
	require.NoError(t, err)
	<-notified
	require.True(t, event(true))
	_, err = producer.WriteString("frame")
	require.NoError(t, err)
	require.False(t, event(true), "it is known to be fed")
	require.NoError(t, producer.Close())
	require.True(t, event(true))
	<-notified

	require.NoError(t, os.Remove(path))
	_, err = w.arm(path, true)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A node vanishes a moment before its sysfs entry does.
func TestCameraWhoseNodeIsGoneIsNotListed(t *testing.T) {
	f := newTree(t)
	f.brio()
	source := newSource(linux.TreeIn(f.Root), answering(map[string]videoNode{"video0": brioNode, "video1": brioMeta}).query, platformtest.Quiet())
	got, err := platformtest.List(t, source)
	require.NoError(t, err)
	require.Len(t, got, 1)

	require.NoError(t, os.Remove(f.Path("dev/video0")))
	got, err = platformtest.List(t, source)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Equal(t, queryRetries[0], source.retry.Round(time.Millisecond*10), "looks again by itself")
	require.Empty(t, source.noted())
}

func TestCameraAccessComesLate(t *testing.T) {
	f := newTree(t)
	f.brio()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := answering(map[string]videoNode{"video1": brioMeta})
		d.set("video0", func() (videoNode, error) {
			if time.Since(start) < 200*time.Millisecond {
				return videoNode{}, &os.PathError{Op: "open", Path: "/dev/video0", Err: unix.EACCES}
			}
			return brioNode, nil
		})
		source := newSource(linux.TreeIn(f.Root), d.query, platformtest.Quiet())
		for len(platformtest.MustList(t, source)) == 0 {
			require.Empty(t, source.noted(), "a moment without access is nothing to speak of")
			require.NoError(t, source.Wait(t.Context()))
		}
		require.Equal(t, 250*time.Millisecond, time.Since(start))
		require.EqualValues(t, 3, d.asked["video0"].Load())
		require.Zero(t, source.retry, "no timer runs once all is read")
	})
}

func TestCameraWithoutAccessIsLeftOutAndSaid(t *testing.T) {
	f := newTree(t)
	f.brio()
	f.node("virtual", "video7", "loopback")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		denied := true
		d := answering(map[string]videoNode{"video1": brioMeta, "video7": {Card: "loopback", Capture: true}})
		d.set("video0", func() (videoNode, error) {
			if denied {
				return videoNode{}, &os.PathError{Op: "open", Path: "/dev/video0", Err: unix.EACCES}
			}
			return brioNode, nil
		})
		source := newSource(linux.TreeIn(f.Root), d.query, slog.New(slog.NewTextHandler(&log, nil)))
		for range len(queryRetries) {
			require.Len(t, platformtest.MustList(t, source), 1, "the other camera is listed all the time")
			require.NoError(t, source.Wait(t.Context()))
		}
		for range 3 {
			require.Len(t, platformtest.MustList(t, source), 1)
			require.Zero(t, source.retry, "no timer runs for what stays as it is")
			require.Len(t, source.noted(), 1)
			require.Contains(t, health.English.Phrases(source.noted())[0], f.Path("dev/video0")+" (Logitech BRIO: Logitech BRIO) is left out: open /dev/video0: permission denied; this user needs")
			healthtest.Raised(t, source.noted()...)
		}
		require.Equal(t, 1, strings.Count(log.String(), "camera left out"))

		denied = false
		require.Len(t, platformtest.MustList(t, source), 2)
		require.Empty(t, source.noted())
	})
}

func TestCameraDriverThatHangsCostsTheOthersNothing(t *testing.T) {
	f := newTree(t)
	f.brio()
	f.node("virtual", "video7", "loopback")
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := answering(map[string]videoNode{"video1": brioMeta, "video7": {Card: "loopback", Capture: true}})
		d.set("video0", func() (videoNode, error) { <-release; return brioNode, nil })
		source := newSource(linux.TreeIn(f.Root), d.query, platformtest.Quiet())
		for range len(queryRetries) + 1 {
			require.Len(t, platformtest.MustList(t, source), 1)
			if len(source.noted()) > 0 {
				break
			}
			require.NoError(t, source.Wait(t.Context()))
		}
		require.Contains(t, health.English.Phrases(source.noted())[0], "its driver does not answer; unplug")
		healthtest.Raised(t, source.noted()...)
		require.EqualValues(t, 1, d.asked["video0"].Load(), "a driver that hangs is not asked again")

		close(release)
		require.NoError(t, source.Wait(t.Context()), "the late answer makes the source look again")
		require.Len(t, platformtest.MustList(t, source), 2)
		require.Empty(t, source.noted())
		require.EqualValues(t, 1, d.asked["video0"].Load())
	})
}

// The real watchers on a tree of files: inotify tells of nodes and of access to them.
func TestCameraHearsOfNodes(t *testing.T) {
	platformtest.NoLeak(t)
	f := newTree(t)
	source, err := New(f.Root, platformtest.Quiet())
	require.NoError(t, err)
	require.Equal(t, "camera", source.Name())
	require.Empty(t, platformtest.MustList(t, source))

	changes := map[string]func() error{
		"appears":  func() error { return os.WriteFile(f.Path("dev/video3"), nil, 0o600) },
		"access":   func() error { return os.Chmod(f.Path("dev/video3"), 0o644) },
		"vanishes": func() error { return os.Remove(f.Path("dev/video3")) },
	}
	for _, name := range []string{"appears", "access", "vanishes"} {
		require.NoError(t, os.WriteFile(f.Path("dev/null"), nil, 0o600), "of no interest")
		require.NoError(t, changes[name]())
		require.NoError(t, source.Wait(platformtest.Deadline(t)), name)
	}
	require.NoError(t, source.Close())
	require.NoError(t, source.Close(), "twice does no harm")
	require.ErrorIs(t, source.Wait(t.Context()), os.ErrClosed)
}

func TestCameraSaysWhatItCannotWatch(t *testing.T) {
	platformtest.NoLeak(t)
	f := newTree(t)
	require.NoError(t, os.Remove(f.Path("dev")))
	source, err := New(f.Root, platformtest.Quiet())
	require.NoError(t, err)
	require.Empty(t, platformtest.MustList(t, source))
	require.Contains(t, strings.Join(health.English.Phrases(notedBy(source)), "\n"), "watch "+f.Path("dev")+": no such file or directory")
	healthtest.Raised(t, notedBy(source)...)
	require.NoError(t, source.Close())

	f.Dir("dev")
	source, err = New(f.Root, platformtest.Quiet())
	require.NoError(t, err)
	require.Empty(t, notedBy(source))
	require.NoError(t, os.Remove(f.Path("dev")))
	require.NoError(t, source.Wait(platformtest.Deadline(t)))
	require.Contains(t, strings.Join(health.English.Phrases(notedBy(source)), "\n"), "cameras are no longer watched: watch "+f.Path("dev")+": the folder is gone")
	healthtest.Raised(t, notedBy(source)...)
	require.NoError(t, source.Close())
}

// What this machine has is not known here; that it can be listed is.
func TestCameraOfThisMachine(t *testing.T) {
	platformtest.NoLeak(t)
	source, err := New("", platformtest.Quiet())
	require.NoError(t, err)
	_, err = platformtest.List(t, source)
	require.NoError(t, err)
	require.NoError(t, source.Close())
}

func TestQueryVideoNodeOnWhatIsNone(t *testing.T) {
	_, err := queryVideoNode("/dev/null")
	require.ErrorIs(t, err, unix.ENOTTY)
	require.ErrorContains(t, err, "ask /dev/null what it is (VIDIOC_QUERYCAP)")
	_, err = queryVideoNode(filepath.Join(t.TempDir(), "video0"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestVideoNodeOfCapability(t *testing.T) {
	c := v4l2Capability{Capabilities: v4l2DeviceCaps | v4l2Capture, DeviceCaps: 0x00800000}
	copy(c.Card[:], "HD Webcam ö") // the kernel cuts names within a character
	c.Card[11] = 0
	copy(c.BusInfo[:], strings.Repeat("x", 40))
	require.Equal(t, videoNode{Card: "HD Webcam", BusInfo: strings.Repeat("x", 32)}, c.node(), "a metadata node of a capture device")

	c.DeviceCaps = v4l2CaptureMulti
	require.True(t, c.node().Capture)
	c.Capabilities, c.DeviceCaps = v4l2Capture, 0
	require.True(t, c.node().Capture, "a kernel older than device_caps")
	require.Equal(t, uintptr(0x80685600), linux.IoctlNumber(linux.IoctlRead, 'V', 0, 104))
}

func TestUSBParent(t *testing.T) {
	f := newTree(t)
	f.brio()
	f.Device("pci0000:00/0000:00:14.0/usb1", map[string]string{"idVendor": "1d6b", "idProduct": "0002"})
	f.Device(brioUSB+"/1-3:1.2/sound/card1", nil)
	f.Device("platform/vhci_hcd.0/usb5/5-1/5-1:1.0", nil)
	f.Device("platform/vhci_hcd.0/usb5/5-1", map[string]string{"idVendor": "B0E", "idProduct": "0422"})
	f.Device("pci0000:00/0000:00:1f.3/sound/card0", nil)
	brio := linux.USBDevice{Container: "usb:" + brioUSB, VID: "046d", PID: "085e", Serial: "AB12CD34"}
	for path, want := range map[string]linux.USBDevice{
		"sys/class/video4linux/video0":                            brio,
		"sys/devices/" + brioUSB + "/1-3:1.2/sound/card1":         brio,
		"sys/devices/" + brioUSB:                                  brio,
		"sys/devices/platform/vhci_hcd.0/usb5/5-1/5-1:1.0":        {Container: "usb:platform/vhci_hcd.0/usb5/5-1", VID: "0b0e", PID: "0422"},
		"sys/devices/pci0000:00/0000:00:1f.3/sound/card0":         {},
		"sys/devices/" + brioUSB + "/1-3:1.2/sound/card1/missing": {},
		"dev":         {},
		"sys/devices": {},
	} {
		got, ok := linux.USBParent(f.Path(path))
		require.Equal(t, want, got, path)
		require.Equal(t, want != linux.USBDevice{}, ok, path)
	}
}

func TestHexID(t *testing.T) {
	for in, want := range map[string]string{
		"46f4": "46f4", "0x46F4": "46f4", " 2\n": "0002", "0": "0000", "": "", "0x": "", "12345": "", "zz": "", "-1": "",
	} {
		require.Equal(t, want, linux.HexID(in), "%q", in)
	}
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := platform.NewCallGuard()
		hang := make(chan struct{})
		_, err := platform.CallWithContext(platformtest.Deadline(t), g, nil, func() (int, error) { <-hang; return 1, nil })
		require.ErrorContains(t, err, "no answer in time")
		_, err = platform.CallWithContext(platformtest.Deadline(t), g, nil, func() (int, error) { return 2, nil })
		require.ErrorContains(t, err, "an earlier call has not returned")
		close(hang)
		got, err := platform.CallWithContext(platformtest.Deadline(t), g, nil, func() (int, error) { return 3, nil })
		require.NoError(t, err)
		require.Equal(t, 3, got)
		failed := errors.New("failed")
		_, err = platform.CallWithContext(platformtest.Deadline(t), g, nil, func() (int, error) { return 0, failed })
		require.ErrorIs(t, err, failed)
	})
}

// noted is what the last Read has noted.
func (c *source) noted() []health.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(c.hotplug.Notes(), c.notes...)
}

func notedBy(s platform.Source) []health.Condition { return s.(*source).noted() }
