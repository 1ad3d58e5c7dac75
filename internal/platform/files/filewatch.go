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
	// fileSettle joins the events of one write: a file is truncated before it is filled.
	fileSettle = 30 * time.Millisecond
	// fileRetry is how often a file is read whose changes cannot be watched.
	fileRetry = 30 * time.Second
)

// fileWatch tells when one file may have changed, appeared, gone or been replaced. Who reads
// the file calls arm first, so that no change falls between the two.
type fileWatch struct {
	path    string // absolute
	gate    platform.CallGuard
	changed signal.Signal
	closed  chan struct{}
	once    sync.Once

	mu    sync.Mutex
	watch *PathWatch // nil: it cannot be had now, and each arm tries again
}

// watchFile makes a fileWatch that hears nothing before arm. what names the file for people. That it cannot be watched
// is for arm to say: it can be read all the same.
func watchFile(what, path string) (*fileWatch, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, path, err)
	}
	w := &fileWatch{path: absolute, gate: platform.NewCallGuard(), changed: signal.New(), closed: make(chan struct{})}
	_, _ = w.watching()
	return w, nil
}

// watching is what watches the file.
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

// wait returns after the file may have changed, or what leads to it; or after retry, where 0
// means never.
func (w *fileWatch) wait(ctx context.Context, retry time.Duration) error {
	notified, err := w.changed.Wait(ctx, retry, w.closed)
	if notified {
		return w.settle(ctx)
	}
	return err
}

// settle lets a write end. It waits once, not for silence: a file that is written to all the
// time is read all the same.
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

// readInTime returns what read does, or an error once ctx ends. A reading that takes longer is an event when it is over: what it has seen
// nobody has taken, and the file may not change again.
func readInTime[T any](ctx context.Context, w *fileWatch, read func() (T, error)) (T, error) {
	var ended atomic.Bool // the reading, or the patience with it; whichever is second tells
	end := func() {
		if ended.Swap(true) {
			w.changed.Notify()
		}
	}
	r, err := platform.CallWithContext(ctx, w.gate, func() (T, error) {
		defer end()
		return read()
	})
	if err != nil && ctx.Err() != nil {
		end()
	}
	return r, err
}

// arm watches the file and all that leads to it.
func (w *fileWatch) arm() error {
	watch, err := w.watching()
	if err != nil {
		return err
	}
	_, errs := watch.Arm()
	return errors.Join(errs...)
}

// unwatched is the note on a file that arm cannot watch.
func (w *fileWatch) unwatched(name string, err error) health.Condition {
	return health.Follow(err, health.FileUnwatched, health.Warning, health.Args{"path": name, "every": fileRetry.String()}).Condition
}
