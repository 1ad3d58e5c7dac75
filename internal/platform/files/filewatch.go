package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/signal"
)

const (
	// fileSettle merges the events of one write: a file is truncated before it is filled.
	fileSettle = 30 * time.Millisecond
	// fileRetry is how often a file is read whose changes cannot be watched.
	fileRetry = 30 * time.Second
)

// fileWatch tells when one file may have changed, appeared, vanished or been replaced. It is read with readWatched, so that no change
// is missed.
type fileWatch struct {
	given   string // the path as it was given
	path    string // absolute
	guard   platform.CallGuard
	changed signal.Signal
	closed  chan struct{}
	once    sync.Once

	mu       sync.Mutex
	watch    *PathWatch // nil: could not be made yet; each arm tries again
	watchErr error      // why changes go unnoticed since the last reading; nil: they do not
}

// watchFile makes a fileWatch that reports nothing before arm. what names the file for people. If the file cannot be watched, arm will
// say so: it can be read all the same.
func watchFile(what, path string) (*fileWatch, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, path, err)
	}
	w := &fileWatch{given: path, path: absolute, guard: platform.NewCallGuard(), changed: signal.New(), closed: make(chan struct{})}
	_, _ = w.watching()
	return w, nil
}

// watching returns the PathWatch, which it makes if needed.
func (w *fileWatch) watching() (watch *PathWatch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closed:
		return nil, os.ErrClosed
	default:
	}
	if w.watch == nil {
		w.watch, err = NewPathWatch([]string{w.path}, true, w.changed.Notify)
	}
	return w.watch, err
}

// Close ends Wait and the watching.
func (w *fileWatch) Close() error {
	w.once.Do(func() { close(w.closed) })
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch == nil {
		return nil
	}
	return w.watch.Close()
}

// Wait returns after the file, or what leads to it, may have changed, or when it is to be read without that.
func (w *fileWatch) Wait(ctx context.Context) error {
	var retry time.Duration
	if w.watchError() != nil {
		retry = fileRetry
	}
	notified, err := w.changed.Wait(ctx, retry, w.closed)
	if notified {
		return w.awaitWrite(ctx)
	}
	return err
}

// awaitWrite waits for the end of a write, once and not for silence: a file that is written to all the time is read all the same.
func (w *fileWatch) awaitWrite(ctx context.Context) error {
	select {
	case <-time.After(fileSettle):
	case <-w.closed:
		return os.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	w.changed.Clear()
	return nil
}

// readWatched returns the result of read, or an error once ctx ends. It watches the file before it reads it, so that a later change is an
// event. A read that outlasts ctx is an event when it ends: nobody has used its result, and the file may not change again.
func readWatched[T any](ctx context.Context, w *fileWatch, read func() (T, error)) (T, error) {
	type reading struct {
		content  T
		watchErr error
	}
	r, err := platform.CallWithContext(ctx, w.guard, w.changed.Notify, func() (r reading, err error) {
		r.watchErr = w.arm()
		r.content, err = read()
		return r, err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchErr = r.watchErr
	return r.content, err
}

// arm watches the file and everything that leads to it.
func (w *fileWatch) arm() error {
	watch, err := w.watching()
	if err != nil {
		return err
	}
	_, errs := watch.Arm()
	return errors.Join(errs...)
}

func (w *fileWatch) watchError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watchErr
}

// Notes say if changes go unnoticed.
func (w *fileWatch) Notes() []health.Condition {
	err := w.watchError()
	if err == nil {
		return nil
	}
	args := health.Args{"path": w.given, "every": fileRetry.String()}
	return []health.Condition{health.Follow(err, health.FileUnwatched, health.Warning, args).Condition}
}
