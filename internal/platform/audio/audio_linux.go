package audio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/platform/audio/pipewire"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/signal"
)

// source is the source of audio endpoints on Linux: PulseAudio, or PipeWire by pipewire-pulse. One connection to the sound server reports
// everything and all changes; ALSA has switches that the server does not map. Where there never was a sound server, ALSA lists endpoints.
type source struct {
	places  pulse.Places
	name    string // of this program, for the sound server
	changed signal.Signal
	retry   serverWatch
	alsa    *alsaList
	mixers  *mixers

	pending pendingChanges // what has changed since it was last read

	conn        *pulse.Conn // nil while there is no server
	connections int         // how many there have been
	sockets     []string    // of conn, and those that might have been
	last        pulse.Snapshot
	version     string // of the server, as it was read last
	findUSB     usbFinder
	fed         atomic.Bool // some source may be fed by a stream: the streams matter
	moves       moves
}

// New returns the source "audio". It looks up the address of the sound server for every new connection.
func New(o Options) (platform.Source, error) { return newSource(o), nil }

func newSource(o Options) *source {
	a := &source{places: pulse.Places{Setting: o.Server, Getenv: o.Getenv, Etc: o.Etc, Run: o.Run}, name: o.Name, changed: signal.New()}
	a.retry.notify = a.changed.Notify
	a.moves = moves{getenv: a.places.Env, name: o.Name, notify: func() { a.mark(streamsChanged, 0) }}
	a.alsa = newALSAList(miniaudioLister(), a.changed.Notify)
	if o.Alone {
		a.alsa.bar()
	}
	a.mixers = newMixers(func() { a.mark(mixerChanged, 0) })
	a.mixers.wanted = o.Controls
	return a
}

// Name returns "audio".
func (a *source) Name() string { return "audio" }

func (a *source) mark(what changeSet, source uint32) {
	a.pending.add(what, source)
	a.changed.Notify()
}

// onEvent is called by the connection's reader.
func (a *source) onEvent(f pulse.Facility, t pulse.EventType, index uint32) {
	switch {
	case f == pulse.OnSource && t == pulse.Change:
		a.mark(sourceChanged, index)
	case f == pulse.OnSink && t == pulse.Change:
		a.mark(sinksChanged, 0)
	case f == pulse.OnSourceOutput:
		if a.fed.Load() {
			a.mark(streamsChanged, 0)
		}
	default:
		a.mark(allChanged, 0)
	}
}

// watched are the facilities whose events matter. Clients do not: our own enumeration makes them come and go.
var watched = []pulse.Facility{pulse.OnSource, pulse.OnSourceOutput, pulse.OnSink, pulse.OnCard, pulse.OnModule, pulse.OnServer}

// Read reads what has changed since the last Read, or everything if nothing is known to have changed. It fails without a server,
// except where ALSA takes its place.
func (a *source) Read(ctx context.Context) (platform.Reading, error) {
	endpoints, err := a.list(ctx)
	r := platform.Reading{
		Endpoints: endpoints, Notes: append(a.mixers.notes(), a.alsa.notes()...), Version: a.version,
	}
	if err == nil {
		r.Hardware = hardwareOf(a.last, a.findUSB, a.connections)
	}
	return r, err
}

func (a *source) list(ctx context.Context) ([]devices.Endpoint, error) {
	if err := a.connect(ctx); err != nil {
		if a.alsa.due() {
			return a.alsa.read(ctx)
		}
		return nil, platform.Trouble(fmt.Errorf("waiting for the sound server: %w", err), health.SoundServerAway, nil)
	}
	if err := a.read(ctx); err != nil {
		a.disconnect()
		a.retry.failed(a.sockets)
		return nil, platform.Trouble(fmt.Errorf("read from the sound server: %w", err), health.SoundServerAway, nil)
	}
	a.retry.worked()
	endpoints := a.endpoints()
	fed := a.last.Server.OnPipeWire() && slices.ContainsFunc(a.last.Sources, func(s pulse.Source) bool {
		return a.last.Fed(s) && slices.ContainsFunc(endpoints, func(e devices.Endpoint) bool { return e.Virtual && e.ID == s.Name })
	})
	if a.moves.watch(ctx, a.last.Server.Cookie, fed) {
		endpoints = a.endpoints()
	}
	a.mixers.fill(ctx, endpoints)
	return endpoints, nil
}

// endpoints returns what was read last.
func (a *source) endpoints() []devices.Endpoint {
	for i := range a.last.Outputs {
		a.last.Outputs[i].Several = a.moves.recordsSeveral(a.last.Outputs[i])
	}
	return endpointsOf(a.last, a.findUSB)
}

func (a *source) connect(ctx context.Context) error {
	if a.conn != nil && a.conn.Err() == nil {
		return nil
	}
	a.disconnect()
	at, err := a.places.Find()
	if err == nil {
		err = a.connectTo(ctx, at)
	}
	if err == nil || a.traced(at) {
		a.alsa.bar()
	}
	if err != nil {
		a.retry.failed(at.Sockets)
		if at.Unread != nil {
			err = fmt.Errorf("%w; not all settings of the sound server are read: %w", err, at.Unread)
		}
		return err
	}
	a.pending.add(allChanged, 0)
	return nil
}

// traced reports whether there is a trace of a sound server: a socket, or what tells its clients where it is. Where it is not known at
// which places to look, there may be one.
func (a *source) traced(at pulse.Location) bool {
	sockets := append([]string{pipewire.Socket(a.places.Env)}, at.Sockets...)
	return at.Configured || len(at.Sockets) == 0 || slices.ContainsFunc(sockets, exists)
}

// connectTo tries the sockets that there are in turn, or the first if there is none.
func (a *source) connectTo(ctx context.Context, at pulse.Location) (err error) {
	for i, socket := range at.Sockets {
		if i > 0 && !exists(socket) {
			continue
		}
		conn, failed := a.dial(ctx, socket, at.Cookie)
		if failed == nil {
			a.conn, a.sockets = conn, at.Sockets
			a.connections++
			return nil
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = failed
		}
	}
	return err
}

func (a *source) dial(ctx context.Context, socket string, cookie []byte) (*pulse.Conn, error) {
	conn, err := pulse.Dial(ctx, socket, pulse.Options{Name: a.name, OnEvent: a.onEvent, Cookie: cookie})
	if err != nil {
		return nil, err
	}
	if err := conn.Subscribe(ctx, watched...); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func (a *source) disconnect() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
	a.moves.forget()
}

// read brings a.last up to date. A mute is worth a question about its source alone: on a busy
// server the whole list takes several times as long.
func (a *source) read(ctx context.Context) (err error) {
	what, index := a.pending.take()
	if a.moves.due(what&(allChanged|streamsChanged) != 0) {
		what |= streamsChanged
	}
	if what == 0 || what&allChanged != 0 { // 0: nothing is known to have changed, asked to look afresh
		a.moves.unsettled = true
		return a.readAll(ctx)
	}
	if what&sourceChanged != 0 {
		err = a.readSource(ctx, index)
	}
	if err == nil && what&sinksChanged != 0 {
		a.last.Sinks, err = a.conn.Sinks(ctx)
	}
	if err == nil && what&streamsChanged != 0 {
		err = a.readStreams(ctx)
	}
	return err
}

func (a *source) readStreams(ctx context.Context) (err error) {
	a.moves.asked = time.Now()
	a.last.Outputs, err = a.conn.SourceOutputs(ctx)
	return err
}

func (a *source) readAll(ctx context.Context) (err error) {
	a.fed.Store(true) // until it is known
	a.moves.asked = time.Now()
	a.last, err = a.conn.Snapshot(ctx)
	a.fed.Store(slices.ContainsFunc(a.last.Sources, pulse.Source.IsVirtual))
	a.version = a.last.Server.PackageName + " " + a.last.Server.PackageVersion
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
	if err != nil {
		return err
	}
	muted := source.Mute != a.last.Sources[i].Mute
	a.last.Sources[i] = source
	if a.fed.Load() && !muted { // it may run or rest because a stream has come or left
		return a.readStreams(ctx)
	}
	return nil
}

// Wait returns after an event, when the server has gone, or when a new try is due.
func (a *source) Wait(ctx context.Context) error {
	var gone <-chan struct{}
	if a.conn != nil {
		gone = a.conn.Done()
	}
	_, err := a.changed.Wait(ctx, platform.Sooner(cmp.Or(a.retry.wait(), a.moves.wait()), a.alsa.wait()), gone)
	if ctx.Err() != nil {
		a.pending.add(allChanged, 0)
	}
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Close ends the connection.
func (a *source) Close() error {
	a.disconnect()
	a.retry.unwatch()
	a.alsa.close()
	a.mixers.close()
	return nil
}
