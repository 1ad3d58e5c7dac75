// Package engine holds the Engine: the one goroutine that owns all mutable state of the
// product. It turns what the sources observe into snapshots and does no I/O. Everything that it is
// told can be recorded and replayed: see Input, Record and Player.
package engine

import (
	"cmp"
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
	RemovalGrace time.Duration // how long an endpoint that is gone is still reported, because a USB reset is no unplugging
	StaleAfter   time.Duration // how long a failed source's last good endpoints are kept
	PauseList    devices.PauseList
}

// Options configure an Engine.
type Options struct {
	Settings
	Sources []string // names of all sources; nothing is published before each has answered once
	Pause   *Pause   // in force from the start; nil: none
	// Publish is called with every new list for clients, by the Engine's goroutine. It must not block.
	Publish func(devices.Snapshot)
	// Known is called likewise with what is known, which during a pause is more than Publish gets. May be nil.
	Known func(devices.Snapshot)
	// Ask is called likewise with what HID rules want to send to devices. Nil: nothing is sent.
	Ask func(hid.Request)
	// HIDPPSoftwareID is the software id, 1 to 15, of the first HID++ exchange: another in each process, so that two do not take each
	// other's answers for their own. 0: the same as in replays.
	HIDPPSoftwareID byte
	// Elapsed is a clock that nobody sets and that runs while the machine sleeps, when that of the process stands still. Nil: there is
	// none, and a pause or a lease lasts longer by the time of a sleep.
	Elapsed func() time.Duration
	Log     *slog.Logger
}

// Engine owns the state. Its methods may be called from any goroutine while Run runs.
type Engine struct {
	opts   Options
	events chan event
	done   chan struct{}
}

// New returns an Engine. It does nothing before Run.
func New(opts Options) *Engine {
	return &Engine{opts: opts, events: make(chan event), done: make(chan struct{})}
}

// Observe applies a source's reading. It returns when what follows has been published.
func (e *Engine) Observe(o devices.Observation) { e.tell(Input{Observe: &o}) }

// HID applies what has happened to a HID device. It returns when what follows has been published.
func (e *Engine) HID(ev hid.Event) { e.tell(Input{HID: &ev}) }

// Configure puts new settings into force: the list is resolved again from what is known.
func (e *Engine) Configure(set Settings) { e.tell(Input{Configure: &set}) }

// Pause stops telling clients what is known, until it ends. It replaces a pause that is in force.
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
// has ended. A caller that calls Changed before View misses no change.
func (e *Engine) Changed() (changed <-chan struct{}) {
	e.do(func(s *state) { changed = s.changed })
	return changed
}

// Inputs returns what the present list was resolved from, and by what. After Run has ended there are no inputs.
func (e *Engine) Inputs() (in devices.Inputs, r *catalogue.Resolver) {
	r = e.opts.Resolver
	e.do(func(s *state) { in, r = s.inputs(), s.opts.Resolver })
	return in, r
}

// Ping returns when the Engine responds: at once, unless it hangs. After Run has ended it returns at once.
func (e *Engine) Ping() { e.do(func(*state) {}) }

// tell applies one input.
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

// Run owns the state until ctx ends. Its only timer runs while something will be due: the end of a grace period, of the time for which a
// failed source's endpoints are kept, of a lease, of a pause, or of the wait for a device.
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

// state is everything the Engine knows. Its only clock is the time that step is given, so that a recording
// can be replayed.
type state struct {
	opts       Options
	started    time.Time
	slept      time.Duration // sleep at the last wake-up or, before the first one, at the start
	woke       time.Time     // when it woke from its last sleep; zero: it has not slept
	sources    []*source
	leases     []*lease
	units      map[string]*incarnation // by the key of the unit
	departures []departure
	groups     *devices.Grouping // of what is there now; nil: it has to be made
	tracked    bool              // the incarnations, and leases, have been compared with groups
	hid        *hid.Tracker
	paused     *Paused          // nil: what is known is reported
	known      devices.Snapshot // the present list, regardless of a pause
	snapshot   devices.Snapshot // the last one that was published
	changed    chan struct{}    // closed at the next change of the view
	sent       bool             // a snapshot has been published
	dirty      bool             // what the list is resolved from may have changed
	now        time.Time        // the time of this step
	hasInput   bool             // this step has an input
	eventAt    time.Time        // when the event that is being applied happened; zero: now
	recorders  []*recorder
}

func newState(opts Options, now time.Time) *state {
	s := &state{
		opts: opts, started: now, now: now, changed: make(chan struct{}), dirty: true,
		units: make(map[string]*incarnation),
		hid:   hid.NewTracker(opts.Resolver.HID),
	}
	if opts.HIDPPSoftwareID != 0 {
		s.hid.SetSoftwareID(opts.HIDPPSoftwareID)
	}
	for _, name := range opts.Sources {
		s.sources = append(s.sources, &source{name: name})
	}
	s.slept = s.sleep()
	s.pause(opts.Pause)
	return s
}

// step sets the time, applies f, if there is one, and publishes what follows from both.
func (s *state) step(now time.Time, f func(*state)) {
	s.now, s.eventAt, s.hasInput = now, time.Time{}, false
	if f != nil {
		f(s)
	}
	if due := s.due(); !s.hasInput && !due.IsZero() && !now.Before(due) {
		s.record(Record{Input: Input{Tick: true}})
	}
	s.expire()
	s.trackUnits()
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

// due returns when expire next has something to do, or zero.
func (s *state) due() time.Time {
	next := s.hid.Due()
	for _, src := range s.sources {
		next = earlier(next, src.due(s.opts.StaleAfter))
	}
	for _, l := range s.leases {
		next = earlier(next, l.until)
	}
	if s.paused != nil {
		next = earlier(next, s.paused.Until)
	}
	if !s.sent && s.answered() && !s.settled() {
		next = earlier(next, s.started.Add(s.opts.StaleAfter))
	}
	return next
}

// earlier returns the earlier of two times; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
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
		if dropped, any := src.expire(s.now, s.opts.StaleAfter); any {
			s.eventAt = s.now
			s.regroup()
			s.opts.Log.Warn("endpoints dropped: their source keeps failing", "source", src.name, "endpoints", dropped, "err", src.err)
		}
	}
	s.dropLeases(s.ranOut, "its lease ran out")
	if s.hid.Expire(s.now) {
		s.regroup()
		s.touch()
	}
	if p := s.paused; p != nil && !p.Until.IsZero() && !s.now.Before(p.Until) {
		s.pause(nil)
	}
}

// regroup notes that endpoints or HID devices may have come, gone or changed.
func (s *state) regroup() { s.dirty, s.groups, s.tracked = true, nil, false }

// grouping returns the groups of what is there, and makes them if necessary. Leases and lists are resolved from them.
func (s *state) grouping() *devices.Grouping {
	if s.groups == nil {
		s.groups = s.opts.Resolver.Group(devices.Inputs{Endpoints: s.endpoints(), Hardware: s.hardware(), Readings: s.hid.Readings()})
	}
	return s.groups
}

// touch tells everybody who watches that the view has changed.
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
	if !s.sent || !next.Equal(s.snapshot) {
		next.Generation++
		next.At = cmp.Or(s.eventAt, s.now)
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

// presentable reports whether the first snapshot may be published: only after every source has answered, and an empty list only after
// every source has succeeded, because unknown is not none. That wait is as long as for a source that fails later.
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
	return devices.Inputs{Endpoints: s.endpoints(), Hardware: s.hardware(), Pushes: s.pushes(), Readings: s.hid.Readings()}
}

func (s *state) endpoints() (all []devices.Endpoint) {
	for _, src := range s.sources {
		all = append(all, src.endpoints...)
	}
	return all
}

// hardware returns the devices that are plugged in.
func (s *state) hardware() []devices.Hardware {
	all := s.hid.Hardware()
	for _, src := range s.sources {
		all = append(all, src.hardware...)
	}
	return all
}
