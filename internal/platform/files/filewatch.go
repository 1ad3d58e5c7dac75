package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
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

// fileWatch tells when one file may have changed, appeared, vanished or been replaced. Readers call arm before they read, so that no
// change is missed in between.
type fileWatch struct {
	path    string // absolute
	guard   platform.CallGuard
	changed signal.Signal
	closed  chan struct{}
	once    sync.Once

	mu    sync.Mutex
	watch *PathWatch // nil: could not be made yet; each arm tries again
}

// watchFile makes a fileWatch that reports nothing before arm. what names the file for people. If the file cannot be watched, arm will
// say so: it can be read all the same.
func watchFile(what, path string) (*fileWatch, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, path, err)
	}
	w := &fileWatch{path: absolute, guard: platform.NewCallGuard(), changed: signal.New(), closed: make(chan struct{})}
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

// Close ends wait and the watching.
func (w *fileWatch) Close() error {
	w.once.Do(func() { close(w.closed) })
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch == nil {
		return nil
	}
	return w.watch.Close()
}

// wait returns after the file, or what leads to it, may have changed, or after retry, if that is not 0.
func (w *fileWatch) wait(ctx context.Context, retry time.Duration) error {
	notified, err := w.changed.Wait(ctx, retry, w.closed)
	if notified {
		return w.settle(ctx)
	}
	return err
}

// settle waits for the end of a write, once and not for silence: a file that is written to all the time is read all the same.
func (w *fileWatch) settle(ctx context.Context) error {
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

// readInTime returns the result of read, or an error once ctx ends. A read that takes longer counts as an event when it is over: nobody
// has used its result, and the file may not change again.
func readInTime[T any](ctx context.Context, w *fileWatch, read func() (T, error)) (T, error) {
	var ended atomic.Bool // read has returned or ctx has ended; whichever is second notifies
	end := func() {
		if ended.Swap(true) {
			w.changed.Notify()
		}
	}
	r, err := platform.CallWithContext(ctx, w.guard, func() (T, error) {
		defer end()
		return read()
	})
	if err != nil && ctx.Err() != nil {
		end()
	}
	return r, err
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

// unwatched returns the note about a file that arm cannot watch.
func (w *fileWatch) unwatched(name string, err error) health.Condition {
	return health.Follow(err, health.FileUnwatched, health.Warning, health.Args{"path": name, "every": fileRetry.String()}).Condition
}
