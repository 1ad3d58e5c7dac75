//go:build !linux

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	points  atomic.Pointer[map[string]bool] // paths whose events count; false: only that they come or go
	hearing sync.WaitGroup
}

// NewPathWatch makes a PathWatch that hears nothing before arm. content says that what is
// written into the files counts. changed must not block.
func NewPathWatch(paths []string, content bool, changed func()) (*PathWatch, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &PathWatch{paths: paths, content: content, changed: changed, watcher: watcher}
	w.points.Store(&map[string]bool{})
	w.hearing.Go(w.hear)
	return w, nil
}

// close ends the watching.
func (w *PathWatch) Close() error {
	err := w.watcher.Close()
	w.hearing.Wait()
	return err
}

// platformtest.Hear ends when the watcher is closed. It has a goroutine of its own because the watcher may
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
			w.changed() // events may have been lost
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
// folder that holds a folder tells of it.
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
			points[fold(at)] = points[fold(at)]
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
func (w *PathWatch) watch(folders map[string]bool) (sees bool, errs []error) {
	for _, old := range w.watcher.WatchList() {
		if _, wanted := folders[old]; !wanted {
			_ = w.watcher.Remove(old) // it may be gone already
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		err := w.watcher.Add(folder)
		switch {
		case err == nil:
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

// fold makes names equal that a file system may hold to be equal. Where it does not, an event
// too many does no harm.
func fold(path string) string { return strings.ToLower(path) }
