package audio

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
	"sidetone/internal/platform/linux"
)

// An alsaCard reads the mixer controls of a sound card and notices their changes. It neither writes a control nor opens a stream.
type alsaCard struct {
	dev    string
	file   *os.File
	kernel func() (linux.Ioctl, func(), error) // returns the card's ioctl, and a function to release it
	reader *linux.Reader
	hidden atomic.Pointer[map[uint32]bool] // numbers of the controls that Controls leaves out
}

// openALSA opens the control device of a card ("/dev/snd/controlC0").
func openALSA(dev string) (*alsaCard, error) {
	fd, err := unix.Open(dev, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open the sound card's controls", Path: dev, Err: err}
	}
	// Subscribe before the poller gets the descriptor: the kernel wakes only those who poll after that.
	on := int32(1)
	if err := linux.IoctlOf(fd)(ctlSubscribe, unsafe.Pointer(&on)); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("subscribe to the sound card's controls %s: %w", dev, err)
	}
	c := &alsaCard{dev: dev, file: os.NewFile(uintptr(fd), dev)}
	c.kernel = c.duplicate
	return c, nil
}

// duplicate returns the ioctl of a duplicated descriptor, so that Close need not wait for a driver that hangs.
func (c *alsaCard) duplicate() (linux.Ioctl, func(), error) {
	conn, err := c.file.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	own := -1
	controlErr := conn.Control(func(fd uintptr) { own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(controlErr, err); err != nil {
		return nil, nil, err
	}
	return linux.IoctlOf(own), func() { unix.Close(own) }, nil
}

// mixerValues are the values of a card's controls by name; from the second of a name on, ",INDEX" is appended.
type mixerValues struct {
	switches map[string]devices.Tri // Unknown: the channels differ, or the value cannot be read
	settings map[string]string      // the item of an enumeration or a number; missing: unknown
}

func (v mixerValues) equal(to mixerValues) bool {
	return maps.Equal(v.switches, to.switches) && maps.Equal(v.settings, to.settings)
}

// Controls reads every readable and active control that is a switch, an enumeration or a number other than a volume. An error means that
// the card is gone. It takes as long as the driver, which may hang.
func (c *alsaCard) Controls() (mixerValues, error) {
	ioctl, release, err := c.kernel()
	if err != nil {
		return mixerValues{}, fmt.Errorf("read the sound card's controls %s: %w", c.dev, err)
	}
	defer release()
	values, hidden, err := readControls(ioctl)
	if err != nil {
		return mixerValues{}, fmt.Errorf("read the sound card's controls %s: %w", c.dev, err)
	}
	c.hidden.Store(&hidden)
	return values, nil
}

// Watch calls notify after each change that Controls may show, and once more when the card has gone. notify must not block. Watch must be
// called at most once.
func (c *alsaCard) Watch(notify func()) {
	c.reader = linux.StartReader(c.file, c.eventStep(notify), notify)
}

// Close ends the watching and releases the card.
func (c *alsaCard) Close() error {
	if c.reader != nil {
		return c.reader.Close()
	}
	return c.file.Close()
}

func (c *alsaCard) eventStep(notify func()) func() error {
	const batch = 64
	events := make([]ctlEvent, batch)
	const size = unsafe.Sizeof(ctlEvent{})
	buf := unsafe.Slice((*byte)(unsafe.Pointer(&events[0])), batch*size)
	return func() error {
		n, err := c.file.Read(buf)
		if err != nil {
			return fmt.Errorf("read the sound card's events: %w", err)
		}
		for _, e := range events[:uintptr(n)/size] {
			if c.relevant(e) {
				notify()
				break
			}
		}
		return nil
	}
}

// relevant is false for what Controls leaves out: a volume that moves, as it does all the time while an application adjusts the gain.
func (c *alsaCard) relevant(e ctlEvent) bool {
	if e.Type != ctlEventElem || e.Mask&^(ctlEventValue|ctlEventTLV) != 0 {
		return true
	}
	hidden := c.hidden.Load()
	return e.Mask&ctlEventValue != 0 && (hidden == nil || !(*hidden)[e.ID.NumID])
}

// readControls reads a card's controls by name, and returns the numbers of those that are left out.
func readControls(ioctl linux.Ioctl) (values mixerValues, hidden map[uint32]bool, err error) {
	ids, err := listElems(ioctl)
	if err != nil {
		return mixerValues{}, nil, err
	}
	values, hidden = mixerValues{make(map[string]devices.Tri), make(map[string]string)}, make(map[uint32]bool)
	for _, id := range ids {
		info, v := ctlElemInfo{ID: id}, ctlElemValue{ID: id}
		infoErr := ioctl(ctlInfo, unsafe.Pointer(&info))
		if infoErr == nil && !info.shown() {
			hidden[id.NumID] = true
			continue
		}
		err := infoErr
		if err == nil {
			err = ioctl(ctlRead, unsafe.Pointer(&v))
		}
		switch {
		case errors.Is(err, unix.ENODEV):
			return mixerValues{}, nil, fmt.Errorf("the card is gone: %w", err)
		case infoErr != nil, errors.Is(err, unix.ENOENT):
			continue // removed since it was listed
		}
		name := id.key()
		if info.Type != ctlTypeBoolean {
			text := ""
			if err == nil {
				text = setting(ioctl, info, v)
			}
			if other, twice := values.settings[name]; twice && other != text {
				text = "" // as for one that cannot be read
			}
			values.settings[name] = text
			continue
		}
		value := devices.Unknown
		if err == nil {
			value = allOf(v.Values[:min(int(info.Count), len(v.Values))])
		}
		if other, twice := values.switches[name]; twice && other != value {
			value = devices.Unknown
		}
		values.switches[name] = value
	}
	maps.DeleteFunc(values.settings, func(_, text string) bool { return text == "" })
	return values, hidden, nil
}

// shown is true for a readable, active control that may say whether something is on. A volume does not: it moves all the time while a
// program adjusts the gain.
func (info ctlElemInfo) shown() bool {
	if info.Access&ctlAccessRead == 0 || info.Access&ctlAccessInactive != 0 {
		return false
	}
	switch info.Type {
	case ctlTypeBoolean, ctlTypeEnumerated:
		return true
	case ctlTypeInteger:
		return !strings.HasSuffix(linux.CString(info.ID.Name[:]), "Volume")
	default:
		return false
	}
}

// setting returns the value that all channels of a control share as a text, or "".
func setting(ioctl linux.Ioctl, info ctlElemInfo, v ctlElemValue) string {
	count := min(int(info.Count), len(v.Values))
	if info.Type == ctlTypeInteger {
		if numbers := slices.Compact(v.Values[:count]); len(numbers) == 1 {
			return strconv.Itoa(numbers[0])
		}
		return ""
	}
	items := (*[len(v.Values)]uint32)(unsafe.Pointer(&v.Values))
	if chosen := slices.Compact(items[:count]); len(chosen) == 1 {
		info.Enumerated.Item = chosen[0]
		if ioctl(ctlInfo, unsafe.Pointer(&info)) == nil {
			return linux.CString(info.Enumerated.Name[:])
		}
	}
	return ""
}

func (id ctlElemID) key() string {
	name := linux.CString(id.Name[:])
	if id.Index > 0 {
		name = fmt.Sprintf("%s,%d", name, id.Index)
	}
	return name
}

func listElems(ioctl linux.Ioctl) ([]ctlElemID, error) {
	var ids []ctlElemID
	page := make([]ctlElemID, 256)
	for {
		list := ctlElemList{Offset: uint32(len(ids)), Space: uint32(len(page)), IDs: &page[0]}
		if err := ioctl(ctlListElems, unsafe.Pointer(&list)); err != nil {
			return nil, fmt.Errorf("list them: %w", err)
		}
		used := min(int(list.Used), len(page))
		ids = append(ids, page[:used]...)
		if used == 0 || len(ids) >= int(list.Count) {
			return ids, nil
		}
	}
}

// allOf returns the value that all channels share, or Unknown.
func allOf(channels []int) devices.Tri {
	on := slices.ContainsFunc(channels, func(c int) bool { return c != 0 })
	off := slices.Contains(channels, 0)
	if on == off { // they differ, or there are none
		return devices.Unknown
	}
	return devices.Of(on)
}
