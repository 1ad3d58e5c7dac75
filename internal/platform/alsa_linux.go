package platform

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
)

// An alsaCard reads the switches of one sound card's mixer and hears when they change. It
// neither writes a control nor opens a stream.
type alsaCard struct {
	dev    string
	file   *os.File
	kernel func() (ioctlFunc, func(), error) // the card's ioctl, and what to call after its use
	reader *reader
	plain  atomic.Pointer[map[uint32]bool] // controls that are no switch, by number
}

// openALSA opens the control device of a card ("/dev/snd/controlC0").
func openALSA(dev string) (*alsaCard, error) {
	fd, err := unix.Open(dev, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the sound card's controls %s: %w", dev, err)
	}
	// Before the poller gets the descriptor: the kernel's poll of a file that has not
	// subscribed registers nobody to wake.
	on := int32(1)
	if err := fdIoctl(fd)(ctlSubscribe, unsafe.Pointer(&on)); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("subscribe to the sound card's controls %s: %w", dev, err)
	}
	c := &alsaCard{dev: dev, file: os.NewFile(uintptr(fd), dev)}
	c.kernel = c.duplicate
	return c, nil
}

// duplicate returns ioctl on a descriptor of its own, so that Close need not wait for a driver
// that hangs in one.
func (c *alsaCard) duplicate() (ioctlFunc, func(), error) {
	conn, err := c.file.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	own := -1
	controlErr := conn.Control(func(fd uintptr) { own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(controlErr, err); err != nil {
		return nil, nil, err
	}
	return fdIoctl(own), func() { unix.Close(own) }, nil
}

// Controls reads every on/off control of the card that can be read and is active. True means
// that all its channels are on, False that all are off; Unknown that they differ or that the
// device does not tell. The key is the control's name; from the second of a name on ",INDEX"
// is appended. An error means that the card is gone. It takes as long as the driver does, which
// may hang.
func (c *alsaCard) Controls() (map[string]devices.Tri, error) {
	ioctl, release, err := c.kernel()
	if err != nil {
		return nil, fmt.Errorf("read the sound card's controls %s: %w", c.dev, err)
	}
	defer release()
	values, plain, err := readSwitches(ioctl)
	if err != nil {
		return nil, fmt.Errorf("read the sound card's controls %s: %w", c.dev, err)
	}
	c.plain.Store(&plain)
	return values, nil
}

// Watch calls notify after each change that Controls may show, and once more when the card
// has gone away. notify must not block. To be called once at most.
func (c *alsaCard) Watch(notify func()) {
	c.reader = startReader(c.file, c.eventStep(notify), notify)
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

// relevant is false for what Controls does not show: a volume that moves, as it does all the
// time while an application adjusts the gain.
func (c *alsaCard) relevant(e ctlEvent) bool {
	if e.Type != ctlEventElem || e.Mask&^(ctlEventValue|ctlEventTLV) != 0 {
		return true
	}
	plain := c.plain.Load()
	return e.Mask&ctlEventValue != 0 && (plain == nil || !(*plain)[e.ID.NumID])
}

// readSwitches reads a card's switches by name, and the numbers of all other controls.
func readSwitches(ioctl ioctlFunc) (values map[string]devices.Tri, plain map[uint32]bool, err error) {
	ids, err := listElems(ioctl)
	if err != nil {
		return nil, nil, err
	}
	values, plain = make(map[string]devices.Tri), make(map[uint32]bool)
	for _, id := range ids {
		value, shown, err := readSwitch(ioctl, id)
		switch {
		case errors.Is(err, unix.ENODEV):
			return nil, nil, fmt.Errorf("the card is gone: %w", err)
		case errors.Is(err, unix.ENOENT), err != nil && !shown: // removed since it was listed
		case !shown:
			plain[id.NumID] = true
		default:
			name := id.key()
			if other, twice := values[name]; twice && other != value {
				value = devices.Unknown
			}
			values[name] = value
		}
	}
	return values, plain, nil
}

func (id ctlElemID) key() string {
	name := cString(id.Name[:])
	if id.Index > 0 {
		name = fmt.Sprintf("%s,%d", name, id.Index)
	}
	return name
}

func listElems(ioctl ioctlFunc) ([]ctlElemID, error) {
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

// readSwitch reads one control. shown is false for one that is no switch, or cannot be read,
// or is inactive. A value that the device refuses to tell is Unknown.
func readSwitch(ioctl ioctlFunc, id ctlElemID) (value devices.Tri, shown bool, err error) {
	info := ctlElemInfo{ID: id}
	if err := ioctl(ctlInfo, unsafe.Pointer(&info)); err != nil {
		return devices.Unknown, false, err
	}
	if info.Type != ctlTypeBoolean || info.Access&ctlAccessRead == 0 || info.Access&ctlAccessInactive != 0 {
		return devices.Unknown, false, nil
	}
	v := ctlElemValue{ID: id}
	if err := ioctl(ctlRead, unsafe.Pointer(&v)); err != nil {
		return devices.Unknown, true, err
	}
	return allOf(v.Values[:min(int(info.Count), len(v.Values))]), true, nil
}

// allOf is known when all channels agree.
func allOf(channels []int) devices.Tri {
	if len(channels) == 0 {
		return devices.Unknown
	}
	first := channels[0] != 0
	for _, c := range channels {
		if (c != 0) != first {
			return devices.Unknown
		}
	}
	return devices.Of(first)
}
