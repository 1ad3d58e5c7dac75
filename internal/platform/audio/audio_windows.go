package audio

import (
	"context"
	"sync/atomic"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/platform/audio/wasapi"
	"sidetone/internal/signal"
)

// Maximum waits before Core Audio is tried again.
const (
	retryAway   = 30 * time.Second // while it is missing
	retryFaulty = 5 * time.Second  // while part of an endpoint cannot be read; after that only at its events
)

// source is the source of audio endpoints on Windows: Core Audio, and miniaudio beside it.
type source struct {
	client  *wasapi.Client
	mini    *companion
	changed signal.Signal
	retry   backoff
	afresh  atomic.Bool // the next List reads everything
	closed  chan struct{}
	faults  []wasapi.Fault // of the last List
}

// New returns the source "audio".
func New(o Options) (platform.Source, error) {
	a := &source{changed: signal.New(), closed: make(chan struct{})}
	a.client = wasapi.Open(wasapi.Options{Changed: a.changed.Notify, Effects: o.Effects})
	a.mini = newCompanion(o.Alone, a.changed.Notify)
	return a, nil
}

// Name is "audio".
func (a *source) Name() string { return "audio" }

// Incomplete reports whether miniaudio has not answered yet.
func (a *source) Incomplete() bool { return a.mini.late }

// Refresh makes the next List read everything.
func (a *source) Refresh() { a.afresh.Store(true) }

// List reads what Core Audio has reported as changed since the last List, or everything after a failure.
func (a *source) List(ctx context.Context) ([]devices.Endpoint, error) {
	reading, err := a.client.Read(ctx, a.afresh.Swap(false))
	a.faults = reading.Faults
	switch {
	case err != nil:
		a.retry.failed(retryAway)
		a.mini.forget()
		return nil, err
	case len(a.faults) == 0:
		a.retry.worked()
	case a.retry.delay < retryFaulty:
		a.retry.failed(retryFaulty)
	}
	a.mini.join("", reading.Endpoints)
	return reading.Endpoints, nil
}

// Notes say what of the endpoints could not be read.
func (a *source) Notes() []health.Condition {
	notes := a.mini.notes()
	for _, f := range a.faults {
		notes = append(notes, f.Condition())
	}
	return notes
}

// Wait returns after an event of Core Audio, or when a new try is due.
func (a *source) Wait(ctx context.Context) error {
	notified, err := a.changed.Wait(ctx, a.retry.wait(), a.closed)
	if !notified && err == nil {
		a.retry.due = time.Time{}
		a.Refresh()
	}
	return err
}

// Close releases Core Audio.
func (a *source) Close() error {
	close(a.closed)
	a.mini.close()
	a.client.Close()
	return nil
}
