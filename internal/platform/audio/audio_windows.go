package audio

import (
	"context"
	"time"

	"sidetone/internal/platform"
	"sidetone/internal/platform/audio/wasapi"
	"sidetone/internal/signal"
)

// Maximum waits before Core Audio is tried again.
const (
	retryAway   = 30 * time.Second // while it is missing
	retryFaulty = 5 * time.Second  // while part of an endpoint cannot be read; after that only at its events
)

// source is the source of audio endpoints on Windows: Core Audio.
type source struct {
	client  *wasapi.Client
	changed signal.Signal
	retry   backoff
	afresh  bool // the next Read reads everything
	closed  chan struct{}
}

// New returns the source "audio".
func New(o Options) (platform.Source, error) {
	a := &source{changed: signal.New(), closed: make(chan struct{})}
	a.client = wasapi.Open(wasapi.Options{Changed: a.changed.Notify, Effects: o.Effects})
	return a, nil
}

// Name is "audio".
func (a *source) Name() string { return "audio" }

// Read reads what Core Audio has reported as changed since the last Read, or everything after a failure.
func (a *source) Read(ctx context.Context) (platform.Reading, error) {
	read, err := a.client.Read(ctx, a.afresh)
	a.afresh = false
	r := platform.Reading{Endpoints: read.Endpoints}
	switch {
	case err != nil:
		a.retry.failed(retryAway)
	case len(read.Faults) == 0:
		a.retry.worked()
	case a.retry.delay < retryFaulty:
		a.retry.failed(retryFaulty)
	}
	for _, f := range read.Faults {
		r.Notes = append(r.Notes, f.Condition())
	}
	return r, err
}

// Wait returns after an event of Core Audio, or when a new try is due.
func (a *source) Wait(ctx context.Context) error {
	notified, err := a.changed.Wait(ctx, a.retry.wait(), a.closed)
	if !notified && err == nil {
		a.retry.due = time.Time{}
		a.afresh = true
	}
	a.afresh = a.afresh || ctx.Err() != nil
	return err
}

// Close releases Core Audio.
func (a *source) Close() error {
	close(a.closed)
	a.client.Close()
	return nil
}
