package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// fileSettle joins the events of one write: a file is truncated before it is filled.
	fileSettle = 30 * time.Millisecond
	// fileRetry is how often a file is read whose changes cannot be watched.
	fileRetry = 30 * time.Second
)

// fileWatch tells when one file may have changed, appeared, gone or been replaced. Who reads
// the file calls arm first, so that no change falls between the two.
type fileWatch struct {
	what, path string // such as "endpoints file", and its absolute path
	log        *slog.Logger
	watcher    *fsnotify.Watcher
	points     atomic.Pointer[map[string]bool] // paths whose events count
	changed    bell
	closed     chan struct{}
}

// watchFile makes a fileWatch that hears nothing before arm. what names the file for people.
func watchFile(what, path string, log *slog.Logger) (*fileWatch, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, path, err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the %s %s: %w", what, path, err)
	}
	w := &fileWatch{what: what, path: absolute, log: log, watcher: watcher, changed: newBell(), closed: make(chan struct{})}
	w.points.Store(&map[string]bool{})
	go w.hear()
	return w, nil
}

// hear ends when the watcher is closed.
func (w *fileWatch) hear() {
	defer close(w.closed)
	for {
		select {
		case event, open := <-w.watcher.Events:
			if !open {
				return
			}
			if (*w.points.Load())[fold(event.Name)] {
				w.changed.ring()
			}
		case err, open := <-w.watcher.Errors:
			if !open {
				return
			}
			w.log.Debug(w.what+": events may have been lost", "path", w.path, "err", err)
			w.changed.ring()
		}
	}
}

// Close ends wait and the watching.
func (w *fileWatch) Close() error {
	err := w.watcher.Close()
	<-w.closed
	return err
}

// wait returns after the file may have changed, or what leads to it; or after retry, where 0
// means never.
func (w *fileWatch) wait(ctx context.Context, retry time.Duration) error {
	rung, err := w.changed.wait(ctx, retry, w.closed)
	if rung {
		return w.settle(ctx)
	}
	return err
}

// settle lets a write end. It waits once, not for silence: a file that is written to all the
// time is read all the same.
func (w *fileWatch) settle(ctx context.Context) error {
	timer := time.NewTimer(fileSettle)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.closed:
		return os.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-w.changed:
	default:
	}
	return nil
}

// arm watches the folders of all waypoints: a file's own events end with the file, those of
// its folder tell of its successor too.
func (w *fileWatch) arm() error { return w.follow(waypoints(w.path)) }

func (w *fileWatch) follow(found []string) error {
	points, folders := map[string]bool{}, map[string]bool{}
	for _, p := range found {
		folder := filepath.Dir(p)
		points[fold(p)], points[fold(folder)], folders[folder] = true, true, true
	}
	w.points.Store(&points)
	var errs []error
	for folder := range folders {
		if err := w.watcher.Add(folder); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", folder, err))
		}
	}
	for _, old := range w.watcher.WatchList() {
		if !folders[old] {
			_ = w.watcher.Remove(old) // it may be gone already
		}
	}
	if !slices.Equal(found, waypoints(w.path)) {
		w.changed.ring() // a folder that appeared before it was watched made no event
	}
	return errors.Join(errs...)
}

// unwatched is the note on a file that arm cannot watch.
func (w *fileWatch) unwatched(name string, err error) string {
	return fmt.Sprintf("changes of %s cannot be watched, it is read every %v: %v", name, fileRetry, err)
}

// fold makes names equal that a file system may hold to be equal. Where it does not, an event
// too many does no harm.
func fold(path string) string { return strings.ToLower(path) }
