//go:build !linux

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// A PathWatch tells when some paths may have come to lead elsewhere, or when what is there has
// changed. It watches the folders that hold what leads to the paths.
type PathWatch struct {
	paths   []string
	content bool
	changed func()
	watcher *fsnotify.Watcher
	add     func(folder string) error       // the watcher's
	points  atomic.Pointer[map[string]bool] // paths whose events count; false: only that they come or go
	lost    atomic.Bool                     // events may have been lost: what is watched may no longer be
	hearing sync.WaitGroup

	mu      sync.Mutex // while the watcher is changed: one that is closed meanwhile might never answer
	watched map[string]fs.FileInfo
}

// NewPathWatch makes a PathWatch that hears nothing before arm. content says that what is
// written into the files counts. changed must not block.
func NewPathWatch(paths []string, content bool, changed func()) (*PathWatch, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &PathWatch{paths: paths, content: content, changed: changed, watcher: watcher, add: watcher.Add}
	w.points.Store(&map[string]bool{})
	w.hearing.Go(w.hear)
	return w, nil
}

// Close ends the watching.
func (w *PathWatch) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.watcher.Close()
	w.hearing.Wait()
	return err
}

// hear ends when the watcher is closed. It has a goroutine of its own because the watcher may
// hold a lock while it delivers.
func (w *PathWatch) hear() {
	for {
		select {
		case event, open := <-w.watcher.Events:
			if !open {
				return
			}
			content, isPoint := (*w.points.Load())[fold(filepath.Clean(event.Name))]
			if isPoint && (event.Op != fsnotify.Write || w.content && content) {
				w.changed()
			}
		case _, open := <-w.watcher.Errors:
			if !open {
				return
			}
			w.lost.Store(true)
			w.changed()
		}
	}
}

// Arm watches all that leads to the paths now, again even if it was watched: a folder may be
// another one of the same name. sees is false if changes of none of the paths would be noticed;
// errs name the folders that cannot be watched.
func (w *PathWatch) Arm() (sees bool, errs []error) { return w.follow(stepsTo(w.paths)) }

func (w *PathWatch) follow(found []pathStep) (sees bool, errs []error) {
	points, folders := w.holders(found)
	w.points.Store(&points)
	sees, errs = w.watch(folders)
	if !slices.Equal(found, stepsTo(w.paths)) {
		w.changed() // what appeared before it was watched made no event
	}
	return sees, errs
}

// holders returns the paths whose events count, and the folders that hold them. Those that hold a
// file, a link or the first missing name are true. The others are there for a rename: only the
// folder that holds a folder tells of it. fsnotify cannot ask for folders alone: each file that is made
// there is heard of, too.
func (w *PathWatch) holders(found []pathStep) (points, folders map[string]bool) {
	points, folders = map[string]bool{}, map[string]bool{}
	for _, step := range found {
		point, ok := step.point()
		if !ok {
			continue
		}
		folders[filepath.Dir(point)] = true
		points[fold(point)], points[fold(filepath.Dir(point))] = true, true
		if w.content && runtime.GOOS == "darwin" {
			continue // a folder that is watched tells of its own rename
		}
		for at, holder := point, filepath.Dir(point); at != holder; at, holder = holder, filepath.Dir(holder) {
			if _, is := points[fold(at)]; !is {
				points[fold(at)] = false
			}
			if !folders[holder] {
				folders[holder] = false
			}
		}
	}
	return points, folders
}

// watch follows exactly the given folders. Old ones go first: one that was renamed is the same
// to the kernel. Parents come before their children: so a child that vanishes and returns in
// between is an event.
//
// A folder that is watched already is left alone: adding it anew would have Windows write the next events over those that nobody has
// read yet.
func (w *PathWatch) watch(folders map[string]bool) (sees bool, errs []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.watched
	w.watched = map[string]fs.FileInfo{}
	if w.lost.Swap(false) {
		before = nil
	}
	alive := map[string]bool{}
	for _, old := range w.watcher.WatchList() {
		alive[old] = true
		if _, wanted := folders[old]; !wanted {
			_ = w.watcher.Remove(old) // it may be gone already
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		var known fs.FileInfo
		if alive[folder] {
			known = before[folder]
		}
		now, err := w.addAnother(folder, known)
		switch {
		case err == nil:
			w.watched[folder] = now
			sees = sees || folders[folder]
		case folders[folder] && !errors.Is(err, fs.ErrNotExist):
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			errs = append(errs, fmt.Errorf("%s: %w", folder, err))
		}
	}
	return sees, errs
}

// addAnother watches a folder, unless it is the one that is known to be watched. It returns which one it is, nil if another took its
// place meanwhile.
func (w *PathWatch) addAnother(folder string, known fs.FileInfo) (fs.FileInfo, error) {
	before := identity(folder)
	if known != nil && os.SameFile(known, before) {
		return known, nil
	}
	if err := w.add(folder); err != nil {
		return nil, err
	}
	if !os.SameFile(before, identity(folder)) {
		return nil, nil //nolint:nilnil // it is watched, and will be looked at again
	}
	return before, nil
}

// identity is for SameFile; nil if there is no such folder.
func identity(folder string) fs.FileInfo {
	info, _ := os.Stat(folder)
	os.SameFile(info, info) // Windows is not asked before somebody compares
	return info
}

// fold makes names equal that a file system may hold to be equal. Where it does not, an event
// too many does no harm.
func fold(path string) string { return strings.ToLower(path) }
