package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"os"

	"golang.org/x/sys/unix"
)

// nodeEvents are what can make a device node usable or useless. The access list that a login
// or a change of the active seat sets on a node is an IN_ATTRIB and no kernel device event.
// IN_MODIFY is left out: on older kernels each write to /dev/null is one.
const nodeEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_ATTRIB | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_ONLYDIR

// watchNodes calls notify when an entry of the folder dir that match accepts appears, goes,
// or changes its owner, mode or access list, when events may have been lost, and when it can
// see no more. notify must not block.
func watchNodes(dir string, match func(name string) bool, notify func()) (*Reader, error) {
	fd, err := Inotify(unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	if _, err := unix.InotifyAddWatch(fd, dir, nodeEvents); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watch %s: %w", dir, InotifyLimit(err))
	}
	file := os.NewFile(uintptr(fd), "inotify "+dir)
	buf := make([]byte, 4096)
	step := func() error {
		n, err := file.Read(buf)
		if err != nil {
			return fmt.Errorf("watch %s: %w", dir, err)
		}
		for e := range InotifyEvents(buf[:n]) {
			switch {
			case e.Mask&unix.IN_IGNORED != 0:
				return fmt.Errorf("watch %s: the folder is gone", dir)
			case e.Mask&unix.IN_Q_OVERFLOW != 0, match(e.Name):
				notify()
			}
		}
		return nil
	}
	return StartReader(file, step, notify), nil
}

// InotifyEvent is struct inotify_event.
type InotifyEvent struct {
	Watch uint32 // what was watched
	Mask  uint32
	Name  string // in the folder that was watched; "": the folder itself
}

// InotifyEvents yields what one read of an inotify descriptor returned.
func InotifyEvents(b []byte) iter.Seq[InotifyEvent] {
	return func(yield func(InotifyEvent) bool) {
		for len(b) >= unix.SizeofInotifyEvent {
			watch, mask := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:])
			size := binary.NativeEndian.Uint32(b[12:])
			b = b[unix.SizeofInotifyEvent:]
			if uint64(size) > uint64(len(b)) {
				return
			}
			name, _, _ := bytes.Cut(b[:size], []byte{0})
			b = b[size:]
			if !yield(InotifyEvent{watch, mask, string(name)}) {
				return
			}
		}
	}
}
