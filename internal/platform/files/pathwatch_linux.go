package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"sidetone/internal/platform/linux"
)

// A PathWatch tells when paths may have come to lead elsewhere, or when their content has changed.
//
// It does not use fsnotify, which can only watch whole folders: every file that anybody creates in /tmp would wake it. It watches the
// folders of the paths, and the folder that lacks the first missing name; of everything else on the way it watches only the removal. In a
// busy folder a burst of events wakes it once.
type PathWatch struct {
	paths   []string
	mask    uint32 // events that count in a folder
	changed func()
	file    *os.File
	reader  *linux.Reader

	mu    sync.Mutex
	names map[uint32]map[string]bool // the names that count, by watch
	known map[watchKey]uint32        // the watches of the last arming
}

const (
	// entryEvents are those that make a name in a folder lead elsewhere, or change its access.
	entryEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_ATTRIB | unix.IN_MOVED_TO | unix.IN_MOVED_FROM
	// contentEvents are those of a file that is written.
	contentEvents = unix.IN_MODIFY | unix.IN_CLOSE_WRITE
	// selfEvents are those of a folder or link on the way that vanishes.
	selfEvents = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
)

// NewPathWatch makes a PathWatch that reports nothing before Arm. With content, writes into the files count, too. changed must not block.
func NewPathWatch(paths []string, content bool, changed func()) (*PathWatch, error) {
	fd, err := linux.Inotify(0) // blocking: it is read only when it is readable
	if err != nil {
		return nil, err
	}
	ready, err := newOneShot(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	w := &PathWatch{paths: paths, mask: entryEvents, changed: changed, names: map[uint32]map[string]bool{}}
	if content {
		w.mask |= contentEvents
	}
	w.file = os.NewFile(uintptr(fd), "inotify")
	w.reader = linux.StartReader(ready.file, w.step(ready), changed)
	return w, nil
}

// Close ends the watching.
func (w *PathWatch) Close() error { return errors.Join(w.reader.Close(), w.file.Close()) }

func (w *PathWatch) step(ready *oneShot) func() error {
	buf := make([]byte, 64<<10)
	again := false
	return func() error {
		if again && w.stale() {
			w.changed()
		}
		if err := ready.wait(); err != nil {
			return err
		}
		n, err := w.file.Read(buf)
		if err != nil {
			return fmt.Errorf("watch files: %w", err)
		}
		again = w.concerned(buf[:n])
		if again {
			w.changed()
		}
		return linux.ErrBurst
	}
}

// concerned reports whether any of the events counts.
func (w *PathWatch) concerned(events []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range linux.InotifyEvents(events) {
		names, watched := w.names[e.Watch]
		lost := e.Mask&unix.IN_Q_OVERFLOW != 0
		if lost || watched && e.Mask&unix.IN_IGNORED == 0 && (e.Name == "" || names[e.Name]) {
			return true
		}
	}
	return false
}

// stale reports whether a watched folder has vanished or been replaced. While a process keeps the folder or a socket in it open, its
// removal causes no event; only the removal of its last entry just before does.
func (w *PathWatch) stale() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	stale := false
	for key, before := range w.known {
		now, err := w.watchAgain(key)
		switch {
		case err != nil:
			stale = stale || errors.Is(err, unix.ENOENT)
		case now != before:
			stale = true
			w.names[now] = nil // for the next Arm to remove
		}
	}
	return stale
}

func (w *PathWatch) watchAgain(key watchKey) (watch uint32, err error) {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var wd int
	connErr := conn.Control(func(fd uintptr) { wd, err = unix.InotifyAddWatch(int(fd), key.path, key.mask|unix.IN_MASK_ADD) })
	return uint32(wd), errors.Join(connErr, err)
}

// Arm watches everything that leads to the paths now, even if it was watched already: a folder may be another one of the same name. sees
// is false if no change of any path would be noticed; errs name the folders that cannot be watched.
func (w *PathWatch) Arm() (sees bool, errs []error) { return w.follow(stepsTo(w.paths)) }

func (w *PathWatch) follow(found []pathStep) (sees bool, errs []error) {
	err := w.reader.Failed()
	conn, connErr := w.file.SyscallConn()
	var gone bool
	if err = errors.Join(err, connErr); err == nil {
		err = conn.Control(func(fd uintptr) { sees, gone, errs = w.add(int(fd), found) })
	}
	if err != nil {
		return false, []error{err}
	}
	if gone || !slices.Equal(found, stepsTo(w.paths)) {
		w.changed() // what appeared before it was watched caused no event
	}
	return sees, errs
}

// add watches exactly the found steps; gone reports that something has vanished meanwhile. No event is processed during it.
func (w *PathWatch) add(fd int, found []pathStep) (sees, gone bool, errs []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &watchRound{fd: fd, known: map[watchKey]uint32{}, masks: map[uint32]uint32{}, names: map[uint32]map[string]bool{}}
	for _, s := range found {
		if s.name == "" {
			// Without permission to read it, its removal goes unnoticed.
			gone = errors.Is(r.add(s.at, s.selfMask()), unix.ENOENT) || gone
			continue
		}
		err := r.add(s.at, w.mask|selfEvents|unix.IN_ONLYDIR, s.name)
		switch {
		case err == nil:
			sees = true
		case errors.Is(err, unix.ENOENT):
			gone = true
		default:
			errs = appendOnce(errs, fmt.Errorf("%s: %w", s.at, linux.InotifyLimit(err)))
			_ = r.add(filepath.Dir(s.at), entryEvents|unix.IN_ONLYDIR, filepath.Base(s.at)) // reports a change of access
		}
	}
	for old := range w.names {
		if _, wanted := r.names[old]; !wanted {
			_, _ = unix.InotifyRmWatch(fd, old) // it may be gone already
		}
	}
	w.names, w.known = r.names, r.known
	return sees, gone, errs
}

func (s pathStep) selfMask() uint32 {
	if s.link {
		return selfEvents | unix.IN_ATTRIB | unix.IN_DONT_FOLLOW
	}
	return selfEvents | unix.IN_ONLYDIR
}

func appendOnce(errs []error, err error) []error {
	if slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
		return errs
	}
	return append(errs, err)
}

// watchRound collects the watches of one Arm.
type watchRound struct {
	fd    int
	known map[watchKey]uint32 // the watches of the last arming
	masks map[uint32]uint32
	names map[uint32]map[string]bool
}

type watchKey struct {
	path string
	mask uint32
}

// add watches path, and the given names in it. It replaces the events of an earlier Arm; a folder that is watched twice in one round,
// because several paths lead there, gets the events of both.
func (r *watchRound) add(path string, mask uint32, names ...string) error {
	key := watchKey{path, mask}
	watch, known := r.known[key]
	if !known {
		wd, err := unix.InotifyAddWatch(r.fd, path, mask)
		if err != nil {
			return err
		}
		watch = uint32(wd)
		if before := r.masks[watch]; before == 0 {
			r.names[watch] = map[string]bool{}
		} else if _, err := unix.InotifyAddWatch(r.fd, path, before|mask); err != nil {
			return err
		}
		r.masks[watch] |= mask
		r.known[key] = watch
	}
	for _, name := range names {
		r.names[watch][name] = true
	}
	return nil
}
