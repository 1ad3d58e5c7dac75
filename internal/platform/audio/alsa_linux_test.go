package audio

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
	"sidetone/internal/platform/linux"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
)

// elem is one control of a soundCard.
type elem struct {
	name     string
	index    uint32
	kind     int32 // 1 boolean, 2 integer, ...
	access   uint32
	channels []int
	items    []string // of an enumeration
	infoErr  error
	readErr  error
}

// A soundCard answers the control ioctls as the kernel does.
type soundCard struct {
	elems []elem
	gone  bool
}

func (s *soundCard) ioctl(request uintptr, arg unsafe.Pointer) error {
	if s.gone {
		return unix.ENODEV
	}
	switch request {
	case ctlListElems:
		return s.list((*ctlElemList)(arg))
	case ctlInfo:
		info := (*ctlElemInfo)(arg)
		e := s.elems[info.ID.NumID-1]
		info.Type, info.Access, info.Count = e.kind, e.access, uint32(len(e.channels))
		if e.kind == ctlTypeEnumerated {
			info.Enumerated.Items = uint32(len(e.items))
			copy(info.Enumerated.Name[:], e.items[info.Enumerated.Item])
		}
		return e.infoErr
	case ctlRead:
		value := (*ctlElemValue)(arg)
		e := s.elems[value.ID.NumID-1]
		copy(value.Values[:], e.channels)
		if e.kind == ctlTypeEnumerated {
			for i, c := range e.channels {
				(*[128]uint32)(unsafe.Pointer(&value.Values))[i] = uint32(c)
			}
		}
		return e.readErr
	default:
		return unix.ENOTTY
	}
}

// list writes at most 100 ids at a time, to be asked for the rest.
func (s *soundCard) list(l *ctlElemList) error {
	l.Count = uint32(len(s.elems))
	room := unsafe.Slice(l.IDs, l.Space)
	for l.Used = 0; l.Used < min(100, l.Space) && l.Offset+l.Used < l.Count; l.Used++ {
		n := l.Offset + l.Used
		id := ctlElemID{NumID: n + 1, Index: s.elems[n].index}
		copy(id.Name[:], s.elems[n].name)
		room[l.Used] = id
	}
	return nil
}

func (s *soundCard) card() *alsaCard {
	return &alsaCard{dev: "/dev/snd/controlC7", kernel: func() (linux.Ioctl, func(), error) {
		return s.ioctl, func() {}, nil
	}}
}

const readWrite = 3

func TestALSAControls(t *testing.T) {
	card := &soundCard{elems: []elem{
		{name: "Mic Capture Switch", kind: 1, access: readWrite, channels: []int{1}},
		{name: "Auto Gain Control", kind: 1, access: readWrite, channels: []int{0, 0}},
		{name: "PCM Playback Switch", kind: 1, access: readWrite, channels: []int{1, 0}},
		{name: "Mic Capture Volume", kind: 2, access: readWrite, channels: []int{1}},
		{name: "Capture Source", kind: 3, access: readWrite, channels: []int{1, 1}, items: []string{"Mic", "Line"}},
		{name: "Mute Mode", kind: 3, access: readWrite, channels: []int{0, 1}, items: []string{"Live", "Muted"}},
		{name: "Mic Sidetone Level", kind: 2, access: readWrite, channels: []int{-3, -3}},
		{name: "Level that differs", kind: 2, access: readWrite, channels: []int{1, 2}},
		{name: "Level that is refused", kind: 2, access: readWrite, channels: []int{1}, readErr: unix.EIO},
		{name: "Level twice", kind: 2, access: readWrite, channels: []int{1}},
		{name: "Level twice", kind: 2, access: readWrite, channels: []int{2}},
		{name: "Level twice", kind: 2, access: readWrite, channels: []int{2}},
		{name: "Bytes", kind: 4, access: readWrite, channels: []int{1}},
		{name: "Mic Jack", kind: 1, access: ctlAccessRead, channels: []int{1}},
		{name: "write only", kind: 1, access: 2, channels: []int{1}},
		{name: "inactive", kind: 1, access: readWrite | ctlAccessInactive, channels: []int{1}},
		{name: "no channels", kind: 1, access: readWrite},
		{name: "Mic Capture Switch", index: 1, kind: 1, access: readWrite, channels: []int{0}},
		{name: "same name twice", kind: 1, access: readWrite, channels: []int{0}},
		{name: "same name twice", kind: 1, access: readWrite, channels: []int{1}},
		{name: "the device refuses", kind: 1, access: readWrite, channels: []int{1}, readErr: unix.EIO},
		{name: "removed meanwhile", kind: 1, access: readWrite, channels: []int{1}, readErr: unix.ENOENT},
		{name: "removed before", kind: 1, access: readWrite, channels: []int{1}, infoErr: unix.ENOENT},
	}}
	got, err := card.card().Controls()
	require.NoError(t, err)
	require.Equal(t, map[string]devices.Tri{
		"Mic Capture Switch":   devices.True,
		"Auto Gain Control":    devices.False,
		"PCM Playback Switch":  devices.Unknown,
		"Mic Jack":             devices.True,
		"no channels":          devices.Unknown,
		"Mic Capture Switch,1": devices.False,
		"same name twice":      devices.Unknown,
		"the device refuses":   devices.Unknown,
	}, got.switches)
	require.Equal(t, map[string]string{"Capture Source": "Line", "Mic Sidetone Level": "-3"}, got.settings)
}

func TestALSAManyControls(t *testing.T) {
	card := &soundCard{}
	for i := range 1000 {
		card.elems = append(card.elems, elem{name: fmt.Sprint("Switch ", i), kind: 1, access: readWrite, channels: make([]int, 128)})
	}
	got, err := card.card().Controls()
	require.NoError(t, err)
	require.Len(t, got.switches, 1000)
}

func TestALSACardThatGoesAway(t *testing.T) {
	card := &soundCard{elems: []elem{{name: "Switch", kind: 1, access: readWrite, channels: []int{1}, readErr: unix.ENODEV}}}
	_, err := card.card().Controls()
	require.ErrorIs(t, err, unix.ENODEV)
	require.ErrorContains(t, err, "read the sound card's controls /dev/snd/controlC7: the card is gone")
	card.gone = true
	_, err = card.card().Controls()
	require.ErrorIs(t, err, unix.ENODEV)
}

// The kernel's events arrive over a pipe here, in the kernel's layout.
func TestALSAEvents(t *testing.T) {
	platformtest.NoLeak(t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	card := (&soundCard{elems: []elem{
		{name: "Mic Capture Switch", kind: 1, access: readWrite, channels: []int{1}},
		{name: "Mic Capture Volume", kind: 2, access: readWrite, channels: []int{1}},
	}}).card()
	card.file = read
	_, err = card.Controls()
	require.NoError(t, err)
	heard := signal.New()
	card.Watch(heard.Notify)
	send := func(events ...ctlEvent) {
		var b []byte
		for _, e := range events {
			b = append(b, unsafe.Slice((*byte)(unsafe.Pointer(&e)), unsafe.Sizeof(e))...)
		}
		_, err := write.Write(b)
		require.NoError(t, err)
	}
	volume := ctlEvent{Mask: ctlEventValue, ID: ctlElemID{NumID: 2}}
	send(volume, ctlEvent{Mask: ctlEventValue, ID: ctlElemID{NumID: 1}})
	platformtest.AwaitSignal(t, heard)
	send(slices.Repeat([]ctlEvent{volume}, 64)...)
	require.NoError(t, write.Close())
	platformtest.AwaitSignal(t, heard) // the card is gone
	require.Error(t, card.reader.Failed())
	require.Empty(t, heard)
	require.NoError(t, card.Close())
}

func TestALSARelevantEvents(t *testing.T) {
	card := (&soundCard{elems: []elem{
		{name: "Mic Capture Switch", kind: 1, access: readWrite, channels: []int{1}},
		{name: "Mic Capture Volume", kind: 2, access: readWrite, channels: []int{1}},
	}}).card()
	mic, volume := ctlElemID{NumID: 1}, ctlElemID{NumID: 2}
	require.True(t, card.relevant(ctlEvent{Mask: ctlEventValue, ID: volume}), "nothing is known of it yet")
	_, err := card.Controls()
	require.NoError(t, err)
	const info, add, remove = 1 << 1, 1 << 2, 1<<32 - 1
	for _, c := range []struct {
		event ctlEvent
		want  bool
	}{
		{ctlEvent{Mask: ctlEventValue, ID: mic}, true},
		{ctlEvent{Mask: ctlEventValue, ID: volume}, false},
		{ctlEvent{Mask: ctlEventValue | ctlEventTLV, ID: volume}, false},
		{ctlEvent{Mask: ctlEventTLV, ID: mic}, false},
		{ctlEvent{Mask: ctlEventValue | info, ID: volume}, true},
		{ctlEvent{Mask: add, ID: ctlElemID{NumID: 3}}, true},
		{ctlEvent{Mask: remove, ID: volume}, true},
		{ctlEvent{Type: 1}, true},
	} {
		require.Equal(t, c.want, card.relevant(c.event), "%+v", c.event)
	}
}

func TestALSAOpenWhatIsNoCard(t *testing.T) {
	platformtest.NoLeak(t)
	_, err := openALSA("/dev/snd/controlC31337")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = openALSA("/dev/null")
	require.ErrorIs(t, err, unix.ENOTTY)
	require.ErrorContains(t, err, "subscribe to the sound card's controls /dev/null")
}

func TestALSACloseBeforeWatch(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer write.Close()
	card := &alsaCard{file: read}
	card.kernel = card.duplicate
	ioctl, release, err := card.duplicate()
	require.NoError(t, err)
	require.NoError(t, card.Close())
	require.ErrorIs(t, ioctl(ctlSubscribe, unsafe.Pointer(new(int32))), unix.ENOTTY, "a duplicate outlives Close")
	release()
	_, err = card.Controls()
	require.ErrorContains(t, err, "closed file")
}

// The sizes are those of a C compiler with linux/sound/asound.h.
func TestALSALayout(t *testing.T) {
	sizes := map[string][3]uintptr{ // elem_list, elem_value, offset of the values
		"amd64": {80, 1224, 72}, "arm64": {80, 1224, 72}, "riscv64": {80, 1224, 72}, "arm": {72, 712, 72},
	}
	want, ok := sizes[runtime.GOARCH]
	if !ok {
		t.Skipf("the kernel's sizes on %s are not recorded here", runtime.GOARCH)
	}
	require.Equal(t, want, [3]uintptr{unsafe.Sizeof(ctlElemList{}), unsafe.Sizeof(ctlElemValue{}), unsafe.Offsetof(ctlElemValue{}.Values)})
	require.Equal(t, uintptr(0xc1105511), ctlInfo)
	require.Equal(t, uintptr(0xc0045516), ctlSubscribe)
	require.Equal(t, 0xc0005510|want[0]<<16, ctlListElems)
	require.Equal(t, 0xc0005512|want[1]<<16, ctlRead)
}
