package linux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sidetone/internal/health"
)

// Inotify creates an inotify instance. Its error says which limit was reached; see InotifyLimit.
func Inotify(flags int) (fd int, err error) {
	fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | flags)
	return fd, InotifyLimit(err)
}

// InotifyLimit adds to an error of inotify or fsnotify which limit was reached and what to do: the kernel only says "too many open files"
// or "no space left on device". Per-user limits carry the condition health.WatchLimit. Other errors are returned unchanged.
func InotifyLimit(err error) error {
	if _, said := health.Of(err); said {
		return err
	}
	switch {
	case errors.Is(err, unix.ENOSPC):
		return limitReached(err, "fs.inotify.max_user_watches")
	case errors.Is(err, unix.EMFILE) && canOpen():
		return limitReached(err, "fs.inotify.max_user_instances")
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("%w: the limit of this process's open files is reached; raise it (ulimit -n)", err)
	}
	return err
}

// canOpen reports whether this process can open one more file: the kernel has the same error for that limit and for inotify's.
func canOpen() bool {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// limitReached returns the condition of a limit for all of a user's programs, with the remedy in the error's text.
func limitReached(err error, limit string) error {
	const atLeast = 1024
	args, more := health.Args{"limit": limit}, atLeast
	text, _ := os.ReadFile(filepath.Join("/proc/sys", strings.ReplaceAll(limit, ".", "/")))
	if value, notRead := strconv.Atoi(strings.TrimSpace(string(text))); notRead == nil {
		args["value"], more = strconv.Itoa(value), max(4*value, atLeast)
	}
	args["more"] = strconv.Itoa(more)
	e := &health.Error{Condition: health.Condition{Code: health.WatchLimit, Severity: health.Warning, Args: args}, Cause: err}
	return fmt.Errorf("%w: %w; %s", err, e, health.English.Advice(e.Condition))
}

// nodeEvents can make a device node usable or unusable. The access list that a log-in or a change of the active seat sets on a node is an
// IN_ATTRIB and no kernel device event. IN_MODIFY is left out: older kernels report each write to /dev/null.
const nodeEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_ATTRIB | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_ONLYDIR

// watchNodes calls notify when an entry of the folder dir that match accepts appears, vanishes, or changes its owner, mode or access
// list, when events may have been lost, and when watching has failed. notify must not block.
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
	Watch uint32 // the watch descriptor
	Mask  uint32
	Name  string // in the watched folder; "": the folder itself
}

// InotifyEvents yields the events in what one read of an inotify descriptor returned.
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
