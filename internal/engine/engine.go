// Package engine holds the Engine: the one goroutine that owns all mutable state of the
// product. It turns what the sources observe into snapshots and does no I/O. All that it is told
// can be recorded and replayed: see Input, Record and Replay.
package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// Settings can change while the Engine runs.
type Settings struct {
	Resolver     *catalogue.Resolver
	RemovalGrace time.Duration // how long an endpoint that is gone is still reported: a USB reset is not an unplug
	StaleAfter   time.Duration // how long a failed source's last good endpoints are kept
	PauseList    devices.PauseList
}

// Options are what an Engine needs for life.
type Options struct {
	Settings
	Sources []string // names of all sources; nothing is published before each has answered once
	Pause   *Pause   // in force from the start; nil: none
	// Publish gets every new list for clients, from the Engine's goroutine. It must not block.
	Publish func(devices.Snapshot)
	// Known gets what is known whenever that changes, likewise: the same as Publish, but also during a pause. Nil: nobody needs it.
	Known func(devices.Snapshot)
	// Ask gets what HID rules want to be sent to devices, from the Engine's goroutine. It must not
	// block. Nil: nothing is asked.
	Ask func(hid.Request)
	Log *slog.Logger
}

// Engine owns the state. Its methods may be called from any goroutine while Run runs.
type Engine struct {
	opts   Options
	events chan event
	done   chan struct{}
}

// New returns an Engine that Run brings to life.
func New(opts Options) *Engine {
	return &Engine{opts: opts, events: make(chan event), done: make(chan struct{})}
}

// Observe applies a source's reading. It returns when the reading has been taken over.
func (e *Engine) Observe(o devices.Observation) { e.tell(Input{Observe: &o}) }

// HID applies what has happened to a HID device. It returns when what follows has been published.
func (e *Engine) HID(ev hid.Event) { e.tell(Input{HID: &ev}) }

// Configure puts new settings into force: the list is resolved afresh from what is known.
func (e *Engine) Configure(set Settings) { e.tell(Input{Configure: &set}) }

// Pause has clients told nothing of what is known, until it ends. One that is in force is replaced.
func (e *Engine) Pause(p Pause) { e.tell(Input{Pause: &p}) }

// Unpause ends the pause, if there is one.
func (e *Engine) Unpause() { e.tell(Input{Unpause: true}) }

// View returns the present snapshot and the condition of every source, in the order given to New.
func (e *Engine) View() View {
	var v View
	e.do(func(s *state) { v = s.view() })
	return v
}

// Changed returns a channel that is closed at the next change of what View shows; nil after Run
// has ended. Who asks for it before View misses nothing.
func (e *Engine) Changed() (changed <-chan struct{}) {
	e.do(func(s *state) { changed = s.changed })
	return changed
}

// Inputs returns what the present list was resolved from, and by what. Once Run has ended there is nothing.
func (e *Engine) Inputs() (in devices.Inputs, r *catalogue.Resolver) {
	r = e.opts.Resolver
	e.do(func(s *state) { in, r = s.inputs(), s.opts.Resolver })
	return in, r
}

// Ping returns when the Engine has got to it: at once, unless it hangs. Once Run has ended there is nothing to wait for.
func (e *Engine) Ping() { e.do(func(*state) {}) }

// tell has the Engine take in one input.
func (e *Engine) tell(in Input) (out outcome) {
	e.do(func(s *state) { out = s.take(in) })
	return out
}

// do runs f in the Engine's goroutine and waits until what follows from it has been published;
// after Run has ended it does nothing.
func (e *Engine) do(f func(*state)) {
	ev := event{f, make(chan struct{})}
	select {
	case e.events <- ev:
		<-ev.published
	case <-e.done:
	}
}

type event struct {
	apply     func(*state)
	published chan struct{}
}

// Run owns the state until ctx ends. Its one timer runs only while something is due: the end
// of a grace period or of a failed source's patience, of a lease, of a pause, of the wait for a device.
func (e *Engine) Run(ctx context.Context) {
	defer close(e.done)
	s := newState(e.opts, time.Now())
	defer s.endRecorders()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		if due := s.due(); !due.IsZero() {
			timer.Reset(time.Until(due))
		} else {
			timer.Stop()
		}
		var ev event
		select {
		case <-ctx.Done():
			return
		case ev = <-e.events:
		case <-timer.C:
		}
		s.step(time.Now(), ev.apply)
		if ev.published != nil {
			close(ev.published)
		}
	}
}

// state is everything the Engine knows. It goes by the time that it is given, so that a recording
// can be replayed.
type state struct {
	opts        Options
	started     time.Time
	awake       time.Time // when the machine was last known to have started or resumed
	woke        time.Time // when it woke from its last sleep; zero: it has not slept
	sources     []*source
	leases      []*lease
	groups      *devices.Grouping // of what is known now; nil: to be made
	leasesBound bool              // the leases have been compared with it
	hid         *hid.Tracker
	paused      *Paused          // nil: what is known is reported
	known       devices.Snapshot // the present list but for a pause
	snapshot    devices.Snapshot // that was published
	changed     chan struct{}    // closed at the next change of the view
	sent        bool             // a snapshot has been published
	first       time.Time        // when the first one was
	dirty       bool             // what the list is resolved from may have changed
	now         time.Time        // of this step
	hasInput    bool             // this step has an input
	plugged     bool             // which is that a HID device was plugged in
	eventAt     time.Time        // when the event that is being applied happened; zero: now
	recorders   []*recorder

	handedOver bool // another Engine goes on: pushes would be lost
}

func newState(opts Options, now time.Time) *state {
	s := &state{
		opts: opts, started: now, awake: now, now: now, changed: make(chan struct{}), dirty: true,
		hid: hid.NewTracker(opts.HIDRules()),
	}
	for _, name := range opts.Sources {
		s.sources = append(s.sources, &source{name: name})
	}
	s.pause(opts.Pause)
	return s
}

// HIDRules are the sources of the catalogue that read HID devices.
func (set Settings) HIDRules() *hid.Rules {
	return set.Resolver.HID
}

// step lets the time be now, applies f, if there is one, and publishes what follows from both.
func (s *state) step(now time.Time, f func(*state)) {
	s.now, s.eventAt, s.hasInput, s.plugged = now, time.Time{}, false, false
	if f != nil {
		f(s)
	}
	if due := s.due(); !s.hasInput && !due.IsZero() && !now.Before(due) {
		s.record(Record{Input: Input{Tick: true}})
	}
	s.expire()
	s.bindLeases()
	s.publish()
	for _, r := range s.hid.Requests() {
		if s.opts.Ask != nil {
			s.opts.Ask(r)
		}
	}
}

func (s *state) observe(o devices.Observation) {
	i := slices.IndexFunc(s.sources, func(src *source) bool { return src.name == o.Source })
	if i < 0 {
		s.sources = append(s.sources, &source{name: o.Source})
		i = len(s.sources) - 1
	}
	s.eventAt = o.At
	src := s.sources[i]
	before := src.status()
	if o.Err != nil {
		src.fail(o, s.now)
	} else {
		src.replace(o, s.now, s.opts.RemovalGrace)
	}
	s.regroup()
	s.logCondition(before, src.status())
}

// due is when expire has something to do next, or zero.
func (s *state) due() time.Time {
	var next time.Time
	add := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, src := range s.sources {
		add(src.due(s.opts.StaleAfter))
	}
	for _, l := range s.leases {
		add(l.until)
	}
	add(s.hid.Due())
	if s.paused != nil {
		add(s.paused.Until)
	}
	if !s.sent && s.answered() && !s.settled() {
		add(s.started.Add(s.opts.StaleAfter))
	}
	return next
}

// expire drops what has been gone or failing for long enough.
func (s *state) expire() {
	for _, src := range s.sources {
		gone, any := src.forget(s.now)
		if any {
			s.regroup()
		}
		if gone.After(s.eventAt) {
			s.eventAt = gone
		}
		if dropped := src.expire(s.now, s.opts.StaleAfter); dropped > 0 {
			s.eventAt = s.now
			s.regroup()
			s.opts.Log.Warn("endpoints dropped: their source keeps failing", "source", src.name, "endpoints", dropped, "err", src.err)
		}
	}
	s.dropLeases(func(l *lease) bool { return !l.until.IsZero() && !s.now.Before(l.until) }, "its lease ran out")
	if s.hid.Expire(s.now) {
		s.regroup()
		s.touch()
	}
	s.expirePause()
}

// regroup notes that something else may be there now, or in another state.
func (s *state) regroup() { s.dirty, s.groups, s.leasesBound = true, nil, false }

// grouping is what is there, made when it is needed: leases ask for it, and each list is resolved from it.
func (s *state) grouping() *devices.Grouping {
	if s.groups == nil {
		s.groups = s.opts.Resolver.Group(s.endpoints(), s.hid.Readings())
	}
	return s.groups
}

// touch tells who watches that the view has changed.
func (s *state) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// publish resolves the list anew and hands it out if it differs from the one before.
func (s *state) publish() {
	if s.sent && !s.dirty {
		return
	}
	s.dirty = false
	known := s.grouping().Resolve(s.pushes())
	if !s.sent && !s.presentable(known) {
		return
	}
	known.Generation, known.At = s.snapshot.Generation, s.snapshot.At
	next := s.forClients(known)
	if !s.sent {
		s.first = s.now
	}
	if !s.sent || !next.Equal(s.snapshot) {
		next.Generation++
		if next.At = s.eventAt; next.At.IsZero() {
			next.At = s.now
		}
		known.Generation, known.At = next.Generation, next.At
		s.snapshot, s.sent = next, true
		s.opts.Publish(next)
		s.record(Record{List: &List{Generation: next.Generation, Devices: next.Wire()}})
	} else if known.Equal(s.known) {
		return
	}
	s.known = known
	if s.opts.Known != nil {
		s.opts.Known(known)
	}
	s.touch()
}

// presentable guards the first snapshot: not before every source has answered, and an empty
// list not while a source has yet to succeed, because unknown is not none. The patience for
// that is the same as for a source that fails later.
func (s *state) presentable(first devices.Snapshot) bool {
	if !s.answered() {
		return false
	}
	return len(first.Devices) > 0 || s.settled() || !s.now.Before(s.started.Add(s.opts.StaleAfter))
}

func (s *state) answered() bool {
	return !slices.ContainsFunc(s.sources, func(src *source) bool { return !src.answered })
}

func (s *state) settled() bool {
	return !slices.ContainsFunc(s.sources, func(src *source) bool { return !src.succeeded })
}

func (s *state) inputs() devices.Inputs {
	return devices.Inputs{Endpoints: s.endpoints(), Pushes: s.pushes(), Readings: s.hid.Readings()}
}

func (s *state) endpoints() (all []devices.Endpoint) {
	for _, src := range s.sources {
		all = append(all, src.endpoints...)
	}
	return all
}
