package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// Record writes a recording: what is known already, then everything that the Engine is told and
// what it publishes, and an end when stop is called or Run ends. write is called by the Engine's goroutine
// and must not block. ended is closed when no more will be written.
func (e *Engine) Record(program string, write func(Record)) (stop func(), ended <-chan struct{}) {
	rec := &recorder{write: write, ended: make(chan struct{})}
	running := false
	e.do(func(s *state) {
		running = true
		s.startRecorder(rec, program)
	})
	if !running {
		close(rec.ended)
	}
	return func() { e.do(func(s *state) { s.endRecorder(rec) }) }, rec.ended
}

// recorder is a recording in progress.
type recorder struct {
	started time.Time
	write   func(Record)
	ended   chan struct{}
}

func (s *state) startRecorder(rec *recorder, program string) {
	// What is due now happens before the recording begins.
	s.expire()
	s.trackUnits()
	s.publish()
	rec.started = s.now
	set := s.opts.Settings
	rec.write(Record{Header: &Header{
		Version: RecordingVersion, Program: program, Started: s.now.Round(0), Sources: s.opts.Sources, Settings: &set, Ticks: true,
	}})
	for _, r := range s.initialInputs() {
		rec.put(r)
	}
	rec.write(Record{Begin: &Begin{
		Generation: s.snapshot.Generation, Uptime: Span(s.now.Sub(s.started)), Woke: rec.relative(s.woke), HID: s.hid.Checkpoint(rec.relative),
		Units: s.pastUnits(rec.relative), Departures: s.pastDepartures(rec.relative),
	}})
	s.recorders = append(s.recorders, rec)
}

func (s *state) endRecorder(rec *recorder) {
	if i := slices.Index(s.recorders, rec); i >= 0 {
		s.recorders = slices.Delete(s.recorders, i, i+1)
		rec.put(timedRecord{Record{End: &End{}}, s.now})
		close(rec.ended)
	}
}

func (s *state) endRecorders() {
	for len(s.recorders) > 0 {
		s.endRecorder(s.recorders[0])
	}
}

// record writes r, which happens in this step, to all recordings.
func (s *state) record(r Record) {
	for _, rec := range s.recorders {
		rec.put(timedRecord{r, s.now})
	}
}

// timedRecord is a record and its time on the Engine's clock.
type timedRecord struct {
	Record
	at time.Time
}

// put writes a record with times of the recording's own clock, which changes of the wall clock do not affect.
func (rec *recorder) put(d timedRecord) {
	r := d.Record
	r.T = Span(d.at.Sub(rec.started))
	r.Input = r.retimed(rec.relative)
	if r.Observe != nil {
		r.Observe.Endpoints = slices.Clone(r.Observe.Endpoints)
		for i := range r.Observe.Endpoints {
			e := &r.Observe.Endpoints[i]
			e.Attached, e.Changed = rec.relative(e.Attached), maps.Clone(e.Changed)
			for fact, at := range e.Changed {
				e.Changed[fact] = rec.relative(at)
			}
		}
	}
	rec.write(r)
}

func (rec *recorder) relative(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return rec.started.Round(0).Add(at.Sub(rec.started))
}

// initialInputs returns what the Engine would have to be told to know what it knows.
func (s *state) initialInputs() []timedRecord {
	var list []timedRecord
	add := func(at time.Time, in Input) { list = append(list, timedRecord{Record{Input: in}, at}) }
	for _, src := range s.sources {
		src.initialInputs(s.now, s.opts.RemovalGrace, add)
	}
	slices.SortStableFunc(list, func(a, b timedRecord) int { return a.at.Compare(b.at) })
	if p := s.paused; p != nil {
		add(s.now, Input{Pause: p.remaining(s.now)})
	}
	s.leaseInputs(func(in Input) { add(s.now, in) })
	return list
}

// leaseInputs calls add with the pushes that would bring about the present leases.
func (s *state) leaseInputs(add func(Input)) {
	for _, l := range s.leases {
		p := Push{Product: l.Product, Serial: l.Serial, Owner: l.Owner, Seq: l.seq, Holder: l.holder, Unit: l.Unit}
		if !l.until.IsZero() {
			p.TTL = Span(l.until.Sub(s.now))
		}
		say := func(state map[devices.Field]devices.Tri, at time.Time) {
			p.State, p.At = state, at
			push := p
			add(Input{Push: &push})
		}
		for f, v := range l.State {
			if l.candidates == 0 {
				flag := map[devices.Field]devices.Tri{f: v}
				say(flag, l.Since[f])
				say(flag, l.said[f])
			}
		}
		say(nil, l.heard)
	}
}

// initialInputs calls add with the readings that would bring about the present state: first everything, then without what
// has gone since, then the failure.
func (src *source) initialInputs(now time.Time, grace time.Duration, add func(time.Time, Input)) {
	observe := func(at time.Time, o devices.Observation) {
		o.Source = src.name
		add(at, Input{Observe: &o})
	}
	if !src.succeeded {
		if src.answered {
			observe(cmp.Or(src.failedAt, now), devices.Observation{Err: src.err, Notes: src.notes, At: now})
		}
		return
	}
	list := src.endpoints
	begin := cmp.Or(src.failedAt, now)
	byEnd := func(a, b leavingEndpoint) int { return a.shownUntil.Compare(b.shownUntil) }
	leaving := slices.SortedStableFunc(maps.Values(src.leaving), byEnd)
	if len(leaving) > 0 {
		begin = leaving[0].shownUntil.Add(-grace)
	}
	observe(begin, devices.Observation{Endpoints: list, Hardware: src.hardware, Notes: src.notes, At: begin})
	for _, d := range leaving {
		list = slices.DeleteFunc(slices.Clone(list), func(e devices.Endpoint) bool { return src.leaving[e.Key()] == d })
		observe(d.shownUntil.Add(-grace), devices.Observation{Endpoints: list, Hardware: src.hardware, Notes: src.notes, At: d.goneAt})
	}
	if src.err != nil {
		observe(src.failedAt, devices.Observation{Err: src.err, Notes: src.notes, At: src.failedAt})
	}
}
