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

// A PathWatch tells when paths may have come to lead elsewhere, or when their content has changed. It watches the folders that contain
// what leads to the paths.
type PathWatch struct {
	paths   []string
	content bool
	changed func()
	watcher *fsnotify.Watcher
	add     func(folder string) error       // the watcher's
	points  atomic.Pointer[map[string]bool] // paths whose events count; false: only creation and removal
	lost    atomic.Bool                     // events may have been lost, and watches with them
	hearing sync.WaitGroup

	mu      sync.Mutex // held while the watcher changes: if it was closed meanwhile it might never return
	watched map[string]fs.FileInfo
}

// NewPathWatch makes a PathWatch that reports nothing before Arm. With content, writes into the files count, too. changed must not block.
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

// hear runs until the watcher is closed. It needs a goroutine of its own because the watcher may hold a lock while it delivers an event.
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

// Arm watches everything that leads to the paths now, even if it was watched already: a folder may be another one of the same name. sees
// is false if no change of any path would be noticed; errs name the folders that cannot be watched.
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

// holders returns the paths whose events count, and the folders that contain them. Those that contain a file, a link or the first missing
// name are true. The others are needed to notice a rename: only the parent of a folder reports that. fsnotify reports every file that is
// created there, too.
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
			continue // a watched folder reports its own rename
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

// watch watches exactly the given folders. Old ones are removed first, since a renamed folder is the same to the kernel. Parents come
// before their children, so that a child that vanishes and returns meanwhile is an event.
//
// A folder that is already watched is left alone: to add it again would have Windows overwrite events that were not read yet.
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
			if path, ok := errors.AsType[*fs.PathError](err); ok {
				err = path.Err
			}
			errs = append(errs, fmt.Errorf("%s: %w", folder, err))
		}
	}
	return sees, errs
}

// addAnother watches a folder unless it is the known one, which is watched already. It returns the folder's identity, or nil if it was
// replaced meanwhile.
func (w *PathWatch) addAnother(folder string, known fs.FileInfo) (fs.FileInfo, error) {
	before := identity(folder)
	if known != nil && os.SameFile(known, before) {
		return known, nil
	}
	if err := w.add(folder); err != nil {
		return nil, err
	}
	if !os.SameFile(before, identity(folder)) {
		return nil, nil //nolint:nilnil // it is watched, and the next Arm checks it again
	}
	return before, nil
}

// identity returns a FileInfo for os.SameFile, or nil if there is no such folder.
func identity(folder string) fs.FileInfo {
	info, _ := os.Stat(folder)
	os.SameFile(info, info) // forces Windows to read the identity now
	return info
}

// fold makes names equal that a case-insensitive file system considers equal. On others, an unneeded event does no harm.
func fold(path string) string { return strings.ToLower(path) }
