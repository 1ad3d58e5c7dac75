// Package platform is every contact with the OS. Here is what the subjects below it have in common; per-OS code lives in
// name_GOOS.go beside the file that holds the shared part.
package platform

import (
	"context"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// A Watcher is something of this machine to watch. It is a Source, or a Reader.
//
// It subscribes before it is first read, so that no change is lost between the two. An event
// carries no truth, it only means "look again"; a storm of events is one Wait.
type Watcher interface {
	// Name is short, unique and constant: "audio", "camera", "file:PATH".
	Name() string
	// Wait returns nil when something may have changed since the last reading. It may be
	// early, it is never silent: after a reading that failed it returns when a new try is due.
	Wait(ctx context.Context) error
	// Close releases what is held and ends a Wait.
	Close() error
}

// A Source is one OS backend: it knows some endpoints and says when to look again.
type Source interface {
	Watcher
	// List reads everything now. An error means unknown, never none.
	List(ctx context.Context) ([]devices.Endpoint, error)
}

// A Reader knows no endpoints. It hands what it reads to whom it was made for.
type Reader interface {
	Watcher
	// Read reads everything now, and returns when that has been handed on. An error means unknown.
	Read(ctx context.Context) error
}

// An Annotator is a Watcher that has something to say beside what it reads: what was left
// out and why, or what it cannot watch. Notes speaks of the last reading; none means that all is well. A note never replaces an
// error.
type Annotator interface {
	Notes() []health.Condition
}

// A Completer is a Source whose List may lack what is still being asked for. Incomplete tells, of the last List, whether it does: then
// Wait returns once that is there.
type Completer interface{ Incomplete() bool }

// A Versioned source reads from another program, of which it knows name and version: "pulseaudio 16.1". It may be
// called while List runs; "" means that nothing is known yet.
type Versioned interface {
	Version() string
}

// A Refresher is a Watcher whose reading is of no more than what is known to have changed. After
// Refresh it reads everything.
type Refresher interface{ Refresh() }

// readTimeout bounds one reading: a sound server that hangs must not hang the agent.
const readTimeout = 5 * time.Second

// Follow reads w now and after each change, and hands every reading to observe, also that of a
// Reader: whoever counts who has been read must know. It returns when ctx ends. A value on kick
// asks for a fresh reading although nothing is known to have changed (after a resume, on the
// user's word). It closes w.
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
	if a, ok := w.(Annotator); ok {
		o.Notes = a.Notes()
	}
	return o
}

// kicker ends a wait when a fresh reading is asked for, without a goroutine for every wait.
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

// wait returns when w should be read again, and whether because somebody asked for it; ok is false
// at the end. A kick that came during the last reading counts.
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
