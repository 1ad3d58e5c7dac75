// Package platform is every contact with the OS. Here is what the subjects below it have in common; per-OS code lives in
// name_GOOS.go beside the file that holds the shared part.
package platform

import (
	"context"
	"sync"
	"time"

	"sidetone/internal/devices"
)

// A Source is one OS backend: it knows some endpoints and says when to look again.
//
// A source subscribes before its first List, so that no change is lost between the two. An
// event carries no truth, it only means "look again"; a storm of events is one Wait.
type Source interface {
	// Name is short, unique and constant: "audio", "camera", "file:PATH".
	Name() string
	// List reads everything now. An error means unknown, never none.
	List(ctx context.Context) ([]devices.Endpoint, error)
	// Wait returns nil when something may have changed since the last List. It may be
	// early, it is never silent: after a List that failed it returns when a new try is due.
	Wait(ctx context.Context) error
	// Close releases what the source holds and ends a Wait.
	Close() error
}

// An Annotator is a Source that has something to say beside its endpoints: what its List left
// out and why, or what it cannot watch. Notes speaks of the last List, one remark per line for
// people to read; none means that all is well. A note never replaces an error of List.
type Annotator interface {
	Notes() []string
}

// A Versioned source reads from another program, of which it knows name and version: "pulseaudio 16.1". It may be
// called while List runs; "" means that nothing is known yet.
type Versioned interface {
	Version() string
}

// A Refresher is a Source whose List reads no more than what is known to have changed. After
// Refresh it reads everything.
type Refresher interface{ Refresh() }

// listTimeout bounds one List: a sound server that hangs must not hang the agent.
const listTimeout = 5 * time.Second

// Follow reads src now and after each change, and hands every reading to observe, until ctx
// ends. A value on kick asks for a fresh reading although nothing is known to have changed
// (after a resume, on the user's word). It closes src.
func Follow(ctx context.Context, src Source, kick <-chan struct{}, observe func(devices.Observation)) {
	defer src.Close()
	k := &kicker{cancel: func() {}}
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { k.listen(ctx, kick) })
	defer listening.Wait()
	defer cancel()
	at := time.Now()
	for ctx.Err() == nil {
		observe(read(ctx, src, at))
		kicked, ok := k.wait(ctx, src)
		if !ok {
			return
		}
		if r, can := src.(Refresher); can && kicked {
			r.Refresh()
		}
		at = time.Now()
	}
}

func read(ctx context.Context, src Source, at time.Time) devices.Observation {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	endpoints, err := src.List(ctx)
	for i := range endpoints {
		endpoints[i].Source = src.Name()
	}
	return devices.Observation{Source: src.Name(), Endpoints: endpoints, Notes: notes(src), Err: err, At: at}
}

func notes(src Source) []string {
	if a, ok := src.(Annotator); ok {
		return a.Notes()
	}
	return nil
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

// wait returns when src should be read again, and whether because somebody asked for it; ok is false
// at the end. A kick that came during the last reading counts.
func (k *kicker) wait(ctx context.Context, src Source) (kicked, ok bool) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	k.mu.Lock()
	k.cancel = cancel
	if k.kicked {
		cancel()
	}
	k.mu.Unlock()
	err := src.Wait(waiting)
	k.mu.Lock()
	defer k.mu.Unlock()
	kicked = k.kicked
	k.kicked, k.cancel = false, func() {}
	return kicked, ctx.Err() == nil && (kicked || err == nil)
}
