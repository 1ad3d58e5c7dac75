package camera

import (
	"cmp"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"sidetone/internal/platform/linux"
)

// producers notices that a program begins or ends to feed loopback nodes. The driver sends no event of its own (v4l2loopback issue 672),
// but a node is a file: that a frame is written to it, and that a program closes it which could write, are events of inotify. The
// question what a node is only reads and causes neither.
type producers struct {
	file   *os.File // an inotify instance
	reader *linux.Reader

	mu    sync.Mutex
	armed map[int]uint32 // the events that are waited for, by watch
}

// watchProducers watches nothing yet. notify is called twice after an event: the driver may notice the end of a program a moment after
// inotify.
func watchProducers(notify func()) (*producers, error) {
	fd, err := linux.Inotify(unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch virtual cameras: %w", err)
	}
	w := &producers{file: os.NewFile(uintptr(fd), "inotify"), armed: make(map[int]uint32)}
	w.reader = linux.StartReader(w.file, w.step(notify), notify)
	return w, nil
}

func (w *producers) step(notify func()) func() error {
	buf := make([]byte, 4096)
	again := false
	return func() error {
		if again {
			notify()
		}
		n, err := w.file.Read(buf)
		if err != nil {
			return fmt.Errorf("watch virtual cameras: %w", err)
		}
		again = w.fired(buf[:n])
		if again {
			notify()
		}
		return linux.ErrBurst
	}
}

// fired forgets the watches that have ended, each with its first event, and reports whether one of them was due to a program.
func (w *producers) fired(events []byte) (seen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range linux.InotifyEvents(events) {
		delete(w.armed, int(e.Watch))
		seen = seen || e.Mask&unix.IN_IGNORED == 0
	}
	return seen
}

// arm waits for one event at the node at path: that a program closes it, or, unless frames come already, writes one. One event is enough,
// since the next Read arms it again; frames come thirty times a second. It reports whether that is new, so that what happened just before
// is not known.
func (w *producers) arm(path string, fed bool) (isNew bool, err error) {
	events := uint32(unix.IN_CLOSE_WRITE)
	if !fed {
		events |= unix.IN_MODIFY
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.reader.Failed(); err != nil {
		return false, err
	}
	conn, err := w.file.SyscallConn()
	if err != nil {
		return false, err
	}
	var watch int
	failed := conn.Control(func(fd uintptr) { watch, err = unix.InotifyAddWatch(int(fd), path, events|unix.IN_ONESHOT) })
	if failed != nil || err != nil {
		return false, fmt.Errorf("watch %s: %w", path, linux.InotifyLimit(cmp.Or(failed, err)))
	}
	isNew = w.armed[watch] != events
	w.armed[watch] = events
	return isNew, nil
}

func (w *producers) Close() error { return w.reader.Close() }
