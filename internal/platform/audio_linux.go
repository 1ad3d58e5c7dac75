package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"sidetone/internal/devices"
	"sidetone/internal/platform/pulse"
)

// Audio is the source of audio endpoints on Linux: PulseAudio, or PipeWire through
// pipewire-pulse. One connection to the sound server tells everything and all changes;
// miniaudio enumerates beside it, and ALSA tells of switches that the server does not map.
type Audio struct {
	address func() (string, error)
	bell    bell
	retry   *serverWatch
	mini    *enumerator
	mixers  *mixers

	dirty atomic.Uint32 // what has changed since it was last read, as bits of what

	conn    *pulse.Conn // nil while there is no server
	epoch   uint64      // counts connections
	server  string      // address of conn
	last    pulse.Snapshot
	findUSB usbFinder
	asked   []string // endpoints known when miniaudio was last asked
	miniErr error    // what is wrong with miniaudio, for Notes
}

// What an event can be about. Whatever is not named here needs everything read again.
const (
	dirtySources uint32 = 1 << iota
	dirtySinks
	dirtyMixer
	dirtyMiniaudio
	dirtyAll
)

// NewAudio returns the source. address says where the sound server listens; it is asked again
// for every new connection.
func NewAudio(address func() (string, error)) *Audio {
	a := &Audio{address: address, bell: newBell(), retry: newServerWatch()}
	a.mini = newEnumerator(newLister(), func() { a.mark(dirtyMiniaudio) })
	a.mixers = newMixers(func() { a.mark(dirtyMixer) })
	return a
}

// Name is "audio".
func (a *Audio) Name() string { return "audio" }

func (a *Audio) mark(what uint32) {
	a.dirty.Or(what)
	a.bell.ring()
}

// onEvent is called by the connection's reader.
func (a *Audio) onEvent(f pulse.Facility, t pulse.EventType, _ uint32) {
	switch {
	case f == pulse.OnSource && t == pulse.Change:
		a.mark(dirtySources)
	case f == pulse.OnSink && t == pulse.Change:
		a.mark(dirtySinks)
	default:
		a.mark(dirtyAll)
	}
}

// watched are the facilities whose events matter. Clients and streams do not: our own
// enumeration makes clients come and go.
var watched = pulse.MaskOf(pulse.OnSource, pulse.OnSink, pulse.OnCard, pulse.OnModule, pulse.OnServer)

// List reads what has changed since the last List, or everything when nothing is known to
// have changed. Without a server it fails.
func (a *Audio) List(ctx context.Context) ([]devices.Endpoint, error) {
	if err := a.connect(ctx); err != nil {
		return nil, fmt.Errorf("waiting for the sound server: %w", err)
	}
	if err := a.read(ctx, a.dirty.Swap(0)); err != nil {
		a.disconnect()
		a.retry.failed(a.server)
		return nil, fmt.Errorf("read from the sound server: %w", err)
	}
	a.retry.worked()
	endpoints := endpointsOf(a.last, a.findUSB)
	a.mixers.fill(ctx, endpoints)
	a.enumerate(endpoints)
	return endpoints, nil
}

func (a *Audio) connect(ctx context.Context) error {
	if a.conn != nil && a.conn.Err() == nil {
		return nil
	}
	a.disconnect()
	server, err := a.address()
	if err != nil {
		a.retry.failed("")
		return err
	}
	a.server = server
	conn, err := pulse.Dial(ctx, server, pulse.Options{Name: "sidetone", OnEvent: a.onEvent})
	if err == nil {
		if err = conn.Subscribe(ctx, watched); err != nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		a.retry.failed(server)
		return err
	}
	a.conn, a.epoch, a.asked = conn, a.epoch+1, nil
	a.dirty.Store(dirtyAll)
	return nil
}

func (a *Audio) disconnect() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}

func (a *Audio) read(ctx context.Context, dirty uint32) (err error) {
	switch {
	case dirty == 0, dirty&dirtyAll != 0, dirty&dirtySources != 0 && dirty&dirtySinks != 0:
		a.last, err = a.conn.Snapshot(ctx)
		dirty |= dirtyMixer
		a.findUSB = rememberUSB("/sys")
	case dirty&dirtySources != 0:
		a.last.Sources, err = a.conn.Sources(ctx)
	case dirty&dirtySinks != 0:
		a.last.Sinks, err = a.conn.Sinks(ctx)
	}
	if dirty&dirtyMixer != 0 {
		a.mixers.changed()
	}
	return err
}

// enumerate joins miniaudio's list, and asks for a new one when endpoints came or went.
func (a *Audio) enumerate(endpoints []devices.Endpoint) {
	keys := make([]string, len(endpoints))
	for i, e := range endpoints {
		keys[i] = string(e.Type) + e.ID
	}
	slices.Sort(keys)
	if a.asked == nil || !slices.Equal(keys, a.asked) {
		a.asked = keys
		a.mini.request(miniaudioRequest{a.server, a.epoch})
	}
	var found []listed
	found, a.miniErr = a.mini.latest()
	join(endpoints, found)
}

// Notes tells what is missing from the last List.
func (a *Audio) Notes() []string {
	notes := a.mixers.notes()
	switch {
	case errors.Is(a.miniErr, errMiniaudioHangs):
		notes = append(notes, "miniaudio hangs; the sound server's own list is used alone")
	case a.miniErr != nil:
		notes = append(notes, fmt.Sprintf("%v; the sound server's own list is used alone", a.miniErr))
	}
	return notes
}

// Wait returns when an event came, the server went, or a new try is due.
func (a *Audio) Wait(ctx context.Context) error {
	var gone <-chan struct{}
	if a.conn != nil {
		gone = a.conn.Done()
	}
	select {
	case <-a.bell:
	case <-gone:
	case <-a.retry.due():
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Close ends the connection.
func (a *Audio) Close() error {
	a.disconnect()
	a.retry.close()
	a.mini.close()
	a.mixers.close()
	return nil
}
