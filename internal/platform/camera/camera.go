// Package camera lists the cameras of the operating system: New, in each system's file, returns them as a platform.Source.
package camera

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/signal"
)

// listRetry is when a failed Read is tried again without an event.
const listRetry = 30 * time.Second

// watched is what the sources of all systems share.
type watched struct {
	changed signal.Signal
	closed  chan struct{}
	once    sync.Once
	unwatch func() error // nil: nothing is watched

	mu    sync.Mutex
	retry time.Duration // until Read is due without an event; 0 = never
}

func newWatched() *watched { return &watched{changed: signal.New(), closed: make(chan struct{})} }

// Name returns "camera".
func (w *watched) Name() string { return "camera" }

// Close ends Wait and the watching.
func (w *watched) Close() error {
	var err error
	w.once.Do(func() {
		close(w.closed)
		if w.unwatch != nil {
			err = w.unwatch()
		}
	})
	return err
}

// Wait returns after a hot-plug, a change of access, and when a failed Read or a camera that did not answer is due again.
func (w *watched) Wait(ctx context.Context) error {
	w.mu.Lock()
	retry := w.retry
	w.mu.Unlock()
	_, err := w.changed.Wait(ctx, retry, w.closed)
	return err
}

// unreadable returns the error of a failed Read. mu is held.
func (w *watched) unreadable(err error) error {
	w.retry = listRetry
	return platform.Trouble(fmt.Errorf("list cameras: %w", err), health.CamerasUnreadable, nil)
}
