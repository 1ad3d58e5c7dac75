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

// Inotify makes an inotify instance. Its error says which limit is reached; see InotifyLimit.
func Inotify(flags int) (fd int, err error) {
	fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | flags)
	return fd, InotifyLimit(err)
}

// InotifyLimit says of an error of inotify, or of fsnotify, which limit is reached and what to do about it: the kernel's words are
// "too many open files" and "no space left on device". The limits of a user carry the condition health.WatchLimit. Other errors are
// returned as they are.
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

// canOpen reports whether this process may have one more open file: the kernel has one error for that limit and for inotify's.
func canOpen() bool {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// limitReached is the condition that a limit of all of a user's programs is, with its remedy in the error's words.
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
