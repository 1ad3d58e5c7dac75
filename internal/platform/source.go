// Package platform is every contact with the OS. The root has what its subjects share; per-OS code is in name_GOOS.go beside the file
// with the shared part.
package platform

import (
	"context"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// A Watcher is something on this machine that can be watched: a Source or a Reader.
//
// It subscribes before it is first read, so that no change is missed in between. An event carries no truth, it only means "look again"; a
// storm of events is one Wait.
type Watcher interface {
	// Name is short, unique and constant: "audio", "camera", "file:PATH".
	Name() string
	// Wait returns nil when something may have changed since the last reading. It may return early but must never miss a change: after a
	// failed reading it returns when a new try is due.
	Wait(ctx context.Context) error
	// Close releases what is held and ends a Wait.
	Close() error
}

// A Source is an OS backend that lists endpoints and says when to look again.
type Source interface {
	Watcher
	// List reads everything now. An error means unknown, never none.
	List(ctx context.Context) ([]devices.Endpoint, error)
}

// A Reader lists no endpoints. It passes what it reads to the consumer that it was made for.
type Reader interface {
	Watcher
	// Read reads everything now, and returns when that has been passed on. An error means unknown.
	Read(ctx context.Context) error
}

// An Annotator is a Watcher with notes about its last reading: what was left out and why, or what cannot be watched. No notes means that
// all is well. A note never replaces an error.
type Annotator interface {
	Notes() []health.Condition
}

// A Completer is a Source whose List may be incomplete because part of it is still being queried. Incomplete reports that of the last
// List; Wait then returns once the rest is there.
type Completer interface{ Incomplete() bool }

// An Inventory is a Source that also knows which devices are plugged in, whatever endpoints they have. Hardware returns those of the last
// List that succeeded.
type Inventory interface{ Hardware() []devices.Hardware }

// A Versioned source reads from another program and knows its name and version: "pulseaudio 16.1". It may be called while List runs; ""
// means unknown yet.
type Versioned interface {
	Version() string
}

// A Refresher is a Watcher that reads only what is known to have changed. After Refresh it reads everything.
type Refresher interface{ Refresh() }

// readTimeout bounds one reading: a sound server that hangs must not hang the agent.
const readTimeout = 5 * time.Second

// Follow reads w now and after each change, and passes every reading to observe, even that of a Reader, since observers wait until every
// Watcher has been read. It returns when ctx ends. A value on kick requests a fresh reading although nothing is known to have changed:
// after a resume, or when the user asks for it. Follow closes w.
func Follow(ctx context.Context, w Watcher, kick <-chan struct{}, observe func(devices.Observation)) {
	defer w.Close()
	k := &kicker{cancel: func() {}}
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { k.listen(ctx, kick) })
	defer listening.Wait()
	defer cancel()
	at := time.Now()
	for ctx.Err() == nil {
		observe(read(ctx, w, at))
		kicked, ok := k.wait(ctx, w)
		if !ok {
			return
		}
		if r, can := w.(Refresher); can && kicked {
			r.Refresh()
		}
		at = time.Now()
	}
}

func read(ctx context.Context, w Watcher, at time.Time) devices.Observation {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o := devices.Observation{Source: w.Name(), At: at}
	switch w := w.(type) {
	case Source:
		o.Endpoints, o.Err = w.List(ctx)
	case Reader:
		o.Err = w.Read(ctx)
	}
	for i := range o.Endpoints {
		o.Endpoints[i].Source = o.Source
	}
	if inv, ok := w.(Inventory); ok && o.Err == nil {
		o.Hardware = slices.Clone(inv.Hardware())
	}
	for i := range o.Hardware {
		o.Hardware[i].Source = o.Source
	}
	if a, ok := w.(Annotator); ok {
		o.Notes = a.Notes()
	}
	return o
}

// kicker ends a wait when a fresh reading is requested, without a goroutine for every wait.
type kicker struct {
	mu     sync.Mutex
	kicked bool
	cancel context.CancelFunc // of the wait under way
}

// listen turns values on kick into kicks until ctx ends.
func (k *kicker) listen(ctx context.Context, kick <-chan struct{}) {
	for {
		select {
		case <-kick:
			k.mu.Lock()
			k.kicked = true
			k.cancel()
			k.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// wait returns when w should be read again, and whether somebody requested it; ok is false at the end. A kick during the last reading
// counts.
func (k *kicker) wait(ctx context.Context, w Watcher) (kicked, ok bool) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	k.mu.Lock()
	k.cancel = cancel
	if k.kicked {
		cancel()
	}
	k.mu.Unlock()
	err := w.Wait(waiting)
	k.mu.Lock()
	defer k.mu.Unlock()
	kicked = k.kicked
	k.kicked, k.cancel = false, func() {}
	return kicked, ctx.Err() == nil && (kicked || err == nil)
}
