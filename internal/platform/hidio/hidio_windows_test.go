package hidio

import (
	"context"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
	"sidetone/internal/platform"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab/standin"
)

// telephony is a headset's report descriptor: hook switch and mute as levels in report 1, three lamps in the output report 1.
const telephony = "\x05\x0b\x09\x05\xa1\x01\x85\x01\x15\x00\x25\x01\x75\x01\x95\x01\x09\x20\x81\x22\x09\x2f\x81\x22\x95\x06\x81\x01" +
	"\x05\x08\x95\x03\x09\x17\x09\x09\x09\x18\x91\x22\x95\x05\x91\x01" + standin.Control + "\xc0"

func headset(place int) standin.HID {
	return standin.HID{
		VID: 0x1209, PID: 0x0700, Interface: 3, Serial: "SN12345", Container: "{11223344-5566-7788-99aa-bbccddeeff00}",
		Name: "Acme Headset 700", Product: "Acme", Descriptor: []byte(telephony), Place: place,
	}
}

// headsetWithVolume has a second collection, with a report of its own.
func headsetWithVolume() standin.HID {
	fake := headset(0)
	fake.Descriptor = append([]byte("\x05\x0c\x09\x01\xa1\x01\x85\x02\x15\x00\x25\x01\x75\x01\x95\x08\x09\xe9\x81\x02\xc0"), fake.Descriptor...)
	fake.Collections = 2
	return fake
}

// ours wants the devices of tests: Wine has a mouse and a keyboard.
var ours = Any(func(d hid.Device) bool { return d.VID == "1209" })

// openHID returns a source that is followed, and what it hands on.
func openHID(t *testing.T) (*manager, hidEvents) {
	events := newHIDEvents()
	h, err := New("", ours, events.handle, platformtest.Quiet())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	read := make(chan struct{}, 1000)
	following.Go(func() { platform.Follow(ctx, h, nil, func(devices.Observation) { read <- struct{}{} }) })
	t.Cleanup(func() {
		cancel()
		following.Wait()
	})
	<-read
	return h.(*manager), events
}

func TestHIDOfWindowsIsDescribed(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headset(0).Plug(t)
	_, events := openHID(t)
	e := events.expect(t, hid.Attached, plugged.Instance())
	require.False(t, e.Plugged, "it may have been there for long")
	desc := hid.Describe(*e.Device)
	require.Regexp(t, "^[0-9a-f]{4}$", e.Device.Version)
	e.Device.Descriptor, e.Device.Version = nil, ""
	require.Equal(t, hid.Device{
		Node: plugged.Instance(), Bus: devices.USB, VID: "1209", PID: "0700", Serial: "SN12345", Container: "{11223344-5566-7788-99AA-BBCCDDEEFF00}",
		Interface: 3, Name: "Acme Headset 700",
	}, *e.Device)
	mute := desc.Find(descriptor.Input, 0x0b, 0x2f)
	require.Len(t, mute, 1)
	require.Equal(t, descriptor.Level, mute[0].Control())
	require.Equal(t, 2, desc.Length(descriptor.Input, 1))
}

// Windows makes a device of each collection.
func TestHIDOfWindowsIsOneForAllItsCollections(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headsetWithVolume().Plug(t)
	h, events := openHID(t)
	node := plugged.Instance()
	e := events.expect(t, hid.Attached, node)
	require.Equal(t, []uint32{0x000c0001, 0x000b0005}, hid.Describe(*e.Device).Applications)
	plugged.Send("\x02\x01")
	plugged.Send("\x01\x03")
	require.ElementsMatch(t, []string{"\x02\x01", "\x01\x03"}, []string{
		string(events.expect(t, hid.Report, node).Data), string(events.expect(t, hid.Report, node).Data),
	})
	plugged.State(4)
	h.Send(hid.Request{Node: node, ID: 1, Feature: []byte{5}, Length: 2})
	require.Equal(t, "\x05\x04", string(events.expect(t, hid.Answer, node).Data))
	plugged.Unplug()
	events.expectGone(t, node)
}

func TestHIDOfWindowsComesAndGoes(t *testing.T) {
	platformtest.NoLeak(t)
	_, events := openHID(t)
	for range 2 {
		plugged := headset(0).Plug(t)
		require.True(t, events.expect(t, hid.Attached, plugged.Instance()).Plugged)
		plugged.Send("\x01\x02")
		require.Equal(t, "\x01\x02", string(events.expect(t, hid.Report, plugged.Instance()).Data))
		plugged.Unplug()
		events.expectGone(t, plugged.Instance())
	}
	require.Empty(t, events)
}

// What comes with the hub above it, as a dock is connected, may have kept its power.
func TestHIDOfWindowsThatComesWithItsHub(t *testing.T) {
	platformtest.NoLeak(t)
	_, events := openHID(t)
	fake := headset(0)
	fake.HubAge = "3s"
	plugged := fake.Plug(t)
	require.False(t, events.expect(t, hid.Attached, plugged.Instance()).Plugged)
}

// Windows gives every report of a collection the length of the longest.
func TestHIDOfWindowsReportsAreNotPadded(t *testing.T) {
	platformtest.NoLeak(t)
	fake := headset(0)
	fake.Descriptor = append([]byte("\x06\x00\xff\x09\x01\xa1\x01\x75\x08\x15\x00\x25\xff\x85\x02\x95\x07\x09\x02\x81\x02\x85\x03\x95\x01\x09\x03\x81\x02"), standin.Control+"\xc0"...)
	plugged := fake.Plug(t)
	_, events := openHID(t)
	events.expect(t, hid.Attached, plugged.Instance())
	plugged.Send("\x03\x07\x00\x00\x00\x00\x00\x00")
	require.Equal(t, "\x03\x07", string(events.expect(t, hid.Report, plugged.Instance()).Data))
}

// So it does with answers.
func TestHIDOfWindowsAnswersAreNotPadded(t *testing.T) {
	platformtest.NoLeak(t)
	fake := headset(0)
	fake.Descriptor = append([]byte("\x06\x00\xff\x09\x01\xa1\x01\x75\x08\x15\x00\x25\xff\x85\x02\x95\x07\x09\x02\x91\x02\x85\x03\x95\x01\x09\x03\x91\x02"), standin.Control+"\xc0"...)
	plugged := fake.Plug(t)
	h, events := openHID(t)
	events.expect(t, hid.Attached, plugged.Instance())
	h.Send(hid.Request{Node: plugged.Instance(), ID: 1, Output: []byte{2, 4, 0, 0, 0, 0, 0, 0}, Feature: []byte{7}, Length: 64})
	require.Equal(t, "\x07\x04", string(events.expect(t, hid.Answer, plugged.Instance()).Data), "declared to have one byte behind its number")
}

// A collection is a channel of its own.
func TestHIDOfWindowsChannels(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headsetWithVolume().Plug(t)
	_, events := openHID(t)
	events.expect(t, hid.Attached, plugged.Instance())
	by := make(map[byte]int)
	for _, r := range []string{"\x02\x01", "\x01\x03", "\x01\x00"} {
		plugged.Send(r)
		e := events.expect(t, hid.Report, plugged.Instance())
		require.Equal(t, r, string(e.Data))
		require.False(t, e.Since.IsZero())
		require.False(t, e.Since.After(e.At))
		by[e.Data[0]] = e.Channel
	}
	require.Equal(t, map[byte]int{2: 0, 1: 1}, by)
}

func TestHIDOfWindowsIsAsked(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headset(0).Plug(t)
	h, events := openHID(t)
	node := plugged.Instance()
	events.expect(t, hid.Attached, node)
	plugged.State(0x55)
	for i, c := range []struct {
		name   string
		r      hid.Request
		answer string
		err    string
	}{
		{"a feature report", hid.Request{Feature: []byte{5}, Length: 2}, "\x05\x55", ""},
		{"less of it", hid.Request{Feature: []byte{5}, Length: 1}, "\x05", ""},
		{"one that is set", hid.Request{Feature: []byte{5, 0x66}}, "\x05\x66", ""},
		{"one that is set and read", hid.Request{Feature: []byte{5, 0x77}, Length: 2}, "\x05\x77", ""},
		{"an input report", hid.Request{Input: []byte{1}, Length: 2}, "\x01\x77", ""},
		{"an output report, and what has come of it", hid.Request{Output: []byte{1, 2}, Feature: []byte{7}, Length: 2}, "\x07\x02", ""},
		{"a report that it does not have", hid.Request{Feature: []byte{9}, Length: 2}, "", "the device has no feature report 0x09"},
		{"too much to set", hid.Request{Feature: make([]byte, 100), Length: 2}, "", "the device has no feature report 0x00"},
		{"too long an output report", hid.Request{Output: []byte{1, 2, 3}}, "", "the longest output report of this device has 2 bytes: asked for 3"},
		{"no length", hid.Request{Feature: []byte{5}}, "", "a report has at least 1 byte: asked to read 0"},
		{"a lamp", hid.Request{LastOutput: []byte{1}, Length: 2}, "", "read an output report back: Windows cannot do this"},
	} {
		c.r.ID, c.r.Node = uint64(i+1), node
		h.Send(c.r)
		e := events.expect(t, hid.Answer, node)
		require.Equal(t, c.r.ID, e.Request, c.name)
		require.Equal(t, c.answer, string(e.Data), c.name)
		require.Equal(t, c.err, e.Error, c.name)
	}
}

func TestHIDOfWindowsReportsOfOtherLengths(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headset(0).Plug(t)
	_, events := openHID(t)
	node := plugged.Instance()
	events.expect(t, hid.Attached, node)
	plugged.Send("\x01")
	plugged.Send("\x01\x02\x03\x04")
	plugged.Send("\x01\x02")
	for {
		if e := events.expect(t, hid.Report, node); string(e.Data) == "\x01\x02" {
			break
		}
	}
}

// What is lost while a reader is slow is at least said.
func TestHIDOfWindowsManyReports(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headset(0).Plug(t)
	_, events := openHID(t)
	node := plugged.Instance()
	events.expect(t, hid.Attached, node)
	const sent = 300
	for i := range sent {
		plugged.Send("\x01" + string(rune(i%2)))
	}
	plugged.Send("\x01\x03")
	got, lost := 0, false
	for {
		e := events.next(t)
		got++
		if e.Kind == hid.Lost {
			lost = true
			got--
		}
		if string(e.Data) == "\x01\x03" {
			break
		}
	}
	require.True(t, lost || got == sent+1, "%d of %d have come, and none is said to be lost", got, sent+1)
}

func TestHIDOfWindowsThatDoesNotAnswer(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headset(0).Plug(t)
	h, events := openHID(t)
	node := plugged.Instance()
	events.expect(t, hid.Attached, node)
	h.Send(hid.Request{Node: node, ID: 1, Feature: []byte{6}, Length: 2})
	require.NotEmpty(t, events.expect(t, hid.Answer, node).Error)
}

// A device that hangs while it is asked what it is is left out, for now. The others are there. Wine lets no driver hang then.
func TestHIDOfWindowsThatDoesNotSayWhatItIs(t *testing.T) {
	platformtest.NoLeak(t)
	hanging, other := headset(0).Plug(t), headset(1).Plug(t)
	b, err := newBackend("", platformtest.Quiet())
	require.NoError(t, err)
	h, goOn, asked := b.(*hidclass), make(chan struct{}), atomic.Int32{}
	h.describe = func(k described) (described, error) {
		if strings.EqualFold(k.path, hanging.Path()) {
			asked.Add(1)
			<-goOn
		}
		return describe(k)
	}
	list := func() (read, unreadable []string) {
		entries, err := h.list(ours)
		require.NoError(t, err)
		for _, e := range entries {
			switch {
			case e.unreadable != nil:
				require.ErrorIs(t, e.unreadable, platform.ErrNoAnswer)
				unreadable = append(unreadable, e.device.Node)
			case ours(e.device):
				read = append(read, e.device.Node)
			}
		}
		return read, unreadable
	}
	for range 5 {
		read, unreadable := list()
		require.Equal(t, []string{other.Instance()}, read)
		require.Len(t, unreadable, 1)
	}
	require.EqualValues(t, 1, asked.Load(), "that it hangs is known")
	close(goOn)
	require.Eventually(t, func() bool {
		read, unreadable := list()
		return len(read) == 2 && unreadable == nil
	}, 20*time.Second, time.Millisecond)
}

// strangers knows all devices but those of tests.
type strangers struct{}

func (strangers) Wants(hid.Device) bool   { return false }
func (strangers) Knows(d hid.Device) bool { return !ours(d) }

// Windows itself knows whose device it is: the driver of one that no rule is about is not bothered. Once there is a rule, it may have been
// used before.
func TestHIDOfWindowsThatNoRuleIsAboutIsNotOpened(t *testing.T) {
	platformtest.NoLeak(t)
	b, err := newBackend("", platformtest.Quiet())
	require.NoError(t, err)
	opened := make(map[string]bool)
	b.(*hidclass).describe = func(k described) (described, error) {
		opened[strings.ToLower(k.path)] = true
		return describe(k)
	}
	events := newHIDEvents()
	h := newManager(b, strangers{}, events.handle, platformtest.Quiet())
	require.NoError(t, readNow(t, h))
	plugged := headset(0).Plug(t)
	for range 3 {
		require.NoError(t, readNow(t, h))
	}
	require.NotContains(t, opened, strings.ToLower(plugged.Path()))
	require.Empty(t, h.noted())
	require.Empty(t, events)
	h.Want(ours)
	require.NoError(t, readNow(t, h))
	require.Contains(t, opened, strings.ToLower(plugged.Path()))
	e := events.expect(t, hid.Attached, plugged.Instance())
	require.False(t, e.Plugged)
	require.NotEmpty(t, e.Device.Descriptor)
	require.NoError(t, h.Close())
}

// busyBackend is Windows while another program lets nobody else read. Wine lets everybody.
type busyBackend struct {
	*hidclass
	busy atomic.Bool
}

func (b *busyBackend) open(node string) (connection, error) {
	if b.busy.Load() {
		return nil, openError(&fs.PathError{Op: "open", Path: node, Err: windows.ERROR_SHARING_VIOLATION})
	}
	return b.hidclass.open(node)
}

func TestHIDOfWindowsThatAnotherProgramKeepsToItself(t *testing.T) {
	platformtest.NoLeak(t)
	plugged := headset(0).Plug(t)
	b, err := newBackend("", platformtest.Quiet())
	require.NoError(t, err)
	busy := &busyBackend{hidclass: b.(*hidclass)}
	busy.busy.Store(true)
	events := make(hidEvents, 100)
	h := newManager(busy, ours, func(e hid.Event) { events <- e }, platformtest.Quiet())
	for len(events) == 0 {
		require.NoError(t, readNow(t, h))
	}
	require.Equal(t, health.HIDBusy, events.expect(t, hid.Denied, plugged.Instance()).Reason.Code)
	require.Equal(t, readRetry, h.retry, "it is tried again by itself")
	busy.busy.Store(false)
	require.NoError(t, readNow(t, h))
	events.expect(t, hid.Attached, plugged.Instance())
	require.NoError(t, h.Close())
}

// What Wine makes of report descriptors is what internal/hid/descriptor is tested with on every system. With RECORD_PREPARSED=1 it is
// written there.
func TestPreparsedDataAreAsRecorded(t *testing.T) {
	const folder = "../../hid/descriptor/testdata"
	files, err := filepath.Glob(folder + "/descriptors/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		name := filepath.Base(path)
		fake := headset(0)
		fake.Descriptor = descriptorIn(t, path)
		desc, err := descriptor.Parse(fake.Descriptor)
		require.NoError(t, err)
		if len(desc.Applications) > 1 { // Wine forgets between two what holds until it is declared anew
			continue
		}
		plugged := fake.Plug(t)
		file, err := openPath(fake.Path(), 0)
		require.NoError(t, err)
		preparsed, err := readPreparsed(file, 1<<16)
		require.NoError(t, err)
		require.NoError(t, windows.CloseHandle(file))
		recorded := filepath.Join(folder, "preparsed", name)
		if os.Getenv("RECORD_PREPARSED") != "" {
			require.NoError(t, os.WriteFile(recorded, []byte(hex.Dump(preparsed)), 0o644))
		}
		want, err := os.ReadFile(recorded)
		require.NoError(t, err)
		require.Equal(t, string(want), hex.Dump(preparsed), name)
		plugged.Unplug()
	}
}

// descriptorIn reads a file of bytes in hex, with comments.
func descriptorIn(t *testing.T, path string) (out hid.Bytes) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		var b hid.Bytes
		require.NoError(t, b.UnmarshalText([]byte(line)))
		out = append(out, b...)
	}
	return out
}

func TestHIDOfWindowsNames(t *testing.T) {
	platformtest.NoLeak(t)
	for _, c := range []struct{ reported, product, want string }{
		{"", "Acme Air", "Acme Air"},
		{strings.Repeat("ü", 300), "Acme Air", strings.Repeat("ü", 300)},
		{"🎧 Acme", "Acme Air", "🎧 Acme"},
		{"", "🎧 " + strings.Repeat("x", 100), "🎧 " + strings.Repeat("x", 100)},
	} {
		fake := headset(0)
		fake.Name, fake.Product = c.reported, c.product
		plugged := fake.Plug(t)
		h, err := newBackend("", platformtest.Quiet())
		require.NoError(t, err)
		entries, err := h.list(ours)
		require.NoError(t, err)
		i := slices.IndexFunc(entries, func(e entry) bool { return e.device.Node == fake.Instance() })
		require.GreaterOrEqual(t, i, 0, "it is not listed")
		require.Equal(t, c.reported, entries[i].device.Name, "a device that nobody wants is not asked")
		conn, err := h.open(fake.Instance())
		require.NoError(t, err)
		require.Equal(t, c.want, conn.amend(entries[i].device).Name)
		require.NoError(t, conn.close())
		plugged.Unplug()
	}
}
