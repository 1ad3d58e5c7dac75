package audio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/signal"
)

// source is the source of audio endpoints on Linux: PulseAudio, or PipeWire by pipewire-pulse. One connection to the sound server reports
// everything and all changes; miniaudio enumerates beside it, and ALSA has switches that the server does not map.
type source struct {
	options Options
	changed signal.Signal
	retry   serverWatch
	mini    *companion
	mixers  *mixers

	pending pendingChanges // what has changed since it was last read

	conn    *pulse.Conn // nil while there is no server
	server  string      // address of conn
	last    pulse.Snapshot
	version atomic.Pointer[string] // of the server, as it was read last
	findUSB usbFinder
}

// New returns the source "audio". It looks up the address of the sound server for every new connection.
func New(o Options) (platform.Source, error) { return newSource(o), nil }

// address lets a setting replace $PULSE_SERVER, with the same syntax.
func (o Options) address() (string, error) {
	return pulse.Address(func(name string) string {
		if name == "PULSE_SERVER" && o.Server != "" {
			return o.Server
		}
		return o.env(name)
	})
}

// env returns a variable of the user's environment.
func (o Options) env(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

func newSource(o Options) *source {
	a := &source{options: o, changed: signal.New()}
	a.retry.notify = a.changed.Notify
	a.mini = newCompanion(o.Alone, func() { a.mark(miniaudioChanged, 0) })
	a.mixers = newMixers(func() { a.mark(mixerChanged, 0) })
	return a
}

// Name returns "audio".
func (a *source) Name() string { return "audio" }

func (a *source) mark(what changeSet, source uint32) {
	a.pending.add(what, source)
	a.changed.Notify()
}

// Version returns the sound server's name and version.
func (a *source) Version() string {
	if v := a.version.Load(); v != nil {
		return *v
	}
	return ""
}

// Incomplete reports whether miniaudio has not answered yet.
func (a *source) Incomplete() bool { return a.mini.late }

// Refresh makes the next List read everything.
func (a *source) Refresh() { a.pending.add(allChanged, 0) }

// onEvent is called by the connection's reader.
func (a *source) onEvent(f pulse.Facility, t pulse.EventType, index uint32) {
	switch {
	case f == pulse.OnSource && t == pulse.Change:
		a.mark(sourceChanged, index)
	case f == pulse.OnSink && t == pulse.Change:
		a.mark(sinksChanged, 0)
	default:
		a.mark(allChanged, 0)
	}
}

// watched are the facilities whose events matter. Clients and streams do not: our own enumeration makes clients come and go.
var watched = []pulse.Facility{pulse.OnSource, pulse.OnSink, pulse.OnCard, pulse.OnModule, pulse.OnServer}

// List reads what has changed since the last List, or everything if nothing is known to have changed. It fails without a server.
func (a *source) List(ctx context.Context) ([]devices.Endpoint, error) {
	if err := a.connect(ctx); err != nil {
		return nil, platform.Trouble(fmt.Errorf("waiting for the sound server: %w", err), health.SoundServerAway, nil)
	}
	if err := a.read(ctx); err != nil {
		a.disconnect()
		a.retry.failed(a.server)
		return nil, platform.Trouble(fmt.Errorf("read from the sound server: %w", err), health.SoundServerAway, nil)
	}
	a.retry.worked()
	endpoints := endpointsOf(a.last, a.findUSB)
	a.mixers.fill(ctx, endpoints)
	a.mini.join(a.server, endpoints)
	return endpoints, nil
}

func (a *source) connect(ctx context.Context) error {
	if a.conn != nil && a.conn.Err() == nil {
		return nil
	}
	a.disconnect()
	server, err := a.options.address()
	if err != nil {
		a.retry.failed("")
		return err
	}
	a.server = server
	o := pulse.Options{Name: a.options.Name, OnEvent: a.onEvent, Cookie: pulse.LoadCookie(a.options.env)}
	conn, err := pulse.Dial(ctx, server, o)
	if err == nil {
		if err = conn.Subscribe(ctx, watched...); err != nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		a.retry.failed(server)
		return err
	}
	a.conn = conn
	a.mini.forget()
	a.pending.add(allChanged, 0)
	return nil
}

func (a *source) disconnect() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}

// read brings a.last up to date. A mute is worth a question about its source alone: on a busy
// server the whole list takes several times as long.
func (a *source) read(ctx context.Context) (err error) {
	what, index := a.pending.take()
	switch what &^ (mixerChanged | miniaudioChanged) {
	case sourceChanged:
		err = a.readSource(ctx, index)
	case sinksChanged:
		a.last.Sinks, err = a.conn.Sinks(ctx)
	case 0:
		if what == 0 { // nothing is known to have changed: asked to look afresh
			err = a.readAll(ctx)
		}
	default:
		err = a.readAll(ctx)
	}
	return err
}

func (a *source) readAll(ctx context.Context) (err error) {
	a.last, err = a.conn.Snapshot(ctx)
	version := a.last.Server.PackageName + " " + a.last.Server.PackageVersion
	a.version.Store(&version)
	a.mixers.changed()
	a.findUSB = rememberUSB("/sys")
	return err
}

func (a *source) readSource(ctx context.Context, index uint32) error {
	i := slices.IndexFunc(a.last.Sources, func(s pulse.Source) bool { return s.Index == index })
	if i < 0 {
		return a.readAll(ctx)
	}
	source, err := a.conn.Source(ctx, index)
	if errors.Is(err, pulse.ErrNoEntity) { // it has gone since
		return a.readAll(ctx)
	}
	if err == nil {
		a.last.Sources[i] = source
	}
	return err
}

// Notes says what is missing from the last List.
func (a *source) Notes() []health.Condition { return append(a.mixers.notes(), a.mini.notes()...) }

// Wait returns after an event, when the server has gone, or when a new try is due.
func (a *source) Wait(ctx context.Context) error {
	var gone <-chan struct{}
	if a.conn != nil {
		gone = a.conn.Done()
	}
	_, err := a.changed.Wait(ctx, a.retry.wait(), gone)
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Close ends the connection.
func (a *source) Close() error {
	a.disconnect()
	a.retry.unwatch()
	a.mini.close()
	a.mixers.close()
	return nil
}
