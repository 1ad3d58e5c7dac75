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

// A PathWatch tells when some paths may have come to lead elsewhere, or when what is there has
// changed.
//
// It is no fsnotify, which can only watch whole folders: each file that anybody makes in /tmp
// would wake it. This one watches the folders of the paths themselves, and one that lacks a
// name on the way; of all else on the way only that it goes. In a busy folder it is woken once
// for a burst of events.
type PathWatch struct {
	paths   []string
	mask    uint32 // what counts in a folder
	changed func()
	file    *os.File
	reader  *linux.Reader

	mu    sync.Mutex
	names map[uint32]map[string]bool // by watch: the names that count
	known map[watchKey]uint32        // the watches of the last arming
}

const (
	// entryEvents are those that make a name in a folder lead elsewhere, or accessible.
	entryEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_ATTRIB | unix.IN_MOVED_TO | unix.IN_MOVED_FROM
	// contentEvents are those of a file that is written.
	contentEvents = unix.IN_MODIFY | unix.IN_CLOSE_WRITE
	// selfEvents are those of a folder or a link on the way that goes.
	selfEvents = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
)

// NewPathWatch makes a PathWatch that hears nothing before arm. content says that what is
// written into the files counts. changed must not block.
func NewPathWatch(paths []string, content bool, changed func()) (*PathWatch, error) {
	fd, err := linux.Inotify(0) // blocking: it is read when it is ready
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
		if again = w.concerned(buf[:n]); again {
			w.changed()
		}
		return linux.ErrBurst
	}
}

// concerned reports whether some of the events count.
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

// stale reports whether a folder that is watched is not there any more, or is another one. As long
// as a process holds a folder or a socket in it no event tells that it was removed, but the one of
// what was removed from it just before.
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
			w.names[now] = nil // for the next arming to remove
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

// Arm watches all that leads to the paths now, again even if it was watched: a folder may be
// another one of the same name. sees is false if changes of none of the paths would be noticed;
// errs name the folders that cannot be watched.
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
		w.changed() // what appeared before it was watched made no event
	}
	return sees, errs
}

// add watches exactly what is found; gone says that something was there no more. No event is
// looked at meanwhile.
func (w *PathWatch) add(fd int, found []pathStep) (sees, gone bool, errs []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &watchRound{fd: fd, known: map[watchKey]uint32{}, masks: map[uint32]uint32{}, names: map[uint32]map[string]bool{}}
	for _, s := range found {
		if s.name == "" {
			// Who may not read it does not know that it goes.
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
			_ = r.add(filepath.Dir(s.at), entryEvents|unix.IN_ONLYDIR, filepath.Base(s.at)) // it tells of a change of access
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

// watchRound collects the watches of one arming.
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

// add watches path, and counts events of the names in it. What was watched before for other
// events has only these; what is watched twice in one round, as several paths may lead to one
// folder, has both.
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
