// Package platform is every contact with the OS. The root has what its subjects share; per-OS code is in name_GOOS.go beside the file
// with the shared part.
package platform

import (
	"context"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// A Source is one OS backend. It knows some endpoints, or passes what it reads to the consumer that it was made for, and says when to look
// again.
//
// It subscribes before its first Read, so that no change is missed in between. An event carries no truth, it only means "look again"; a
// storm of events is one Wait.
type Source interface {
	// Name is short, unique and constant: "audio", "camera", "file:PATH".
	Name() string
	// Read reads everything now, or what is known to have changed since the last Read. An error means unknown, never none; beside it only
	// Notes and Version are of use.
	Read(ctx context.Context) (Reading, error)
	// Wait returns nil when something may have changed since the last Read. It may return early but must never miss a change: after a Read
	// that failed it returns when a new try is due. If ctx has ended, somebody wants to know afresh: the next Read reads everything.
	Wait(ctx context.Context) error
	// Close releases what is held and ends a Wait.
	Close() error
}

// A Reading is what a source knows at one moment.
type Reading struct {
	Endpoints []devices.Endpoint
	Hardware  []devices.Hardware // the devices that are plugged in, whatever endpoints they have, as far as the source knows them
	Notes     []health.Condition // what was left out and why, or what cannot be watched; none: all is well. They never replace an error
	Version   string             // name and version of the program that it was read from: "pulseaudio 16.1"; "": none, or unknown yet
}

// readTimeout bounds one reading: a sound server that hangs must not hang the agent.
const readTimeout = 5 * time.Second

// Follow reads src now and after each change, and passes every reading to observe, even one without endpoints, since observers wait until
// every source has been read. It returns when ctx ends. A value on kick requests a fresh reading although nothing is known to have changed:
// after a resume, or when the user asks for it. Follow closes src.
func Follow(ctx context.Context, src Source, kick <-chan struct{}, observe func(devices.Observation)) {
	defer src.Close()
	k := &kicker{cancel: func() {}}
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { k.listen(ctx, kick) })
	defer listening.Wait()
	defer cancel()
	observe(read(ctx, src))
	for k.wait(ctx, src) {
		if o := read(ctx, src); ctx.Err() == nil { // else it was given up, which says nothing about src
			observe(o)
		}
	}
}

func read(ctx context.Context, src Source) devices.Observation {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o := devices.Observation{Source: src.Name(), At: time.Now()}
	r, err := src.Read(ctx)
	o.Notes, o.Version, o.Err = r.Notes, r.Version, err
	if err != nil {
		return o
	}
	o.Endpoints, o.Hardware = r.Endpoints, r.Hardware
	for i := range o.Endpoints {
		o.Endpoints[i].Source = o.Source
	}
	for i := range o.Hardware {
		o.Hardware[i].Source = o.Source
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

// wait returns when src should be read again, and false at the end. A kick during the last reading counts.
func (k *kicker) wait(ctx context.Context, src Source) bool {
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
	kicked := k.kicked
	k.kicked, k.cancel = false, func() {}
	k.mu.Unlock()
	if kicked && err == nil {
		cancel()
		_ = src.Wait(waiting) // a change came at the same moment, and src may not know that somebody wants more
	}
	return ctx.Err() == nil && (kicked || err == nil)
}
