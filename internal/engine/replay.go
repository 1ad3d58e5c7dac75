package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// Replayed is the result of replaying a recording.
type Replayed struct {
	Inputs   int      // that were replayed
	Length   Span     // of time, on the recording's clock
	Lists    []Record // that the replay has published
	Recorded []Record // that are in the recording
	Exact    bool     // the recording holds every step, and was replayed with its own settings
	Cut      string   // why the recording ends early; empty: it is complete, or was written by hand

	lastInput Span
}

// ErrNoSettings means that neither the recording nor the player has settings.
var ErrNoSettings = errors.New("the recording has no settings of its own: say which catalogue it is for")

// maxIdleSteps ends a replay in which something falls due again and again.
const maxIdleSteps = 100_000

// Player replays a recording, record by record, under a virtual clock.
type Player struct {
	Published func(devices.Snapshot) // gets each list, beginning with the one in force at the start
	Known     func(devices.Snapshot) // gets likewise what is known, of which clients are told less during a pause

	fallback Settings
	instead  bool // fallback replaces the settings of the recording

	state   *state // nil before the first record
	started time.Time
	last    Span
	initial bool     // the records so far are about what was known before the recording began
	pushes  []Record // of that time; to be applied when everything is known that they may belong to
	auto    bool     // the player does by itself what is due
	byHand  bool     // the recording was written by hand
	ended   bool
	asked   map[uint64]hid.Request // by their ids
	out     Replayed
}

// NewPlayer returns a player for one recording. fallback is for a recording without settings, and may be
// empty if the recording has some; with instead it replaces those of any recording, except for the options
// of its resolver.
func NewPlayer(fallback Settings, instead bool) *Player {
	ignore := func(devices.Snapshot) {}
	return &Player{
		Published: ignore, Known: ignore, fallback: fallback, instead: instead, last: Span(-1 << 62), asked: make(map[uint64]hid.Request),
	}
}

// Play plays the next record.
func (p *Player) Play(r Record) error {
	switch {
	case p.state == nil:
		return p.open(r)
	case r.Header != nil:
		return errors.New("a second beginning")
	case r.Client != nil:
		return nil // its time is not of the Engine's clock
	case p.ended:
		return errors.New("a record behind the end")
	case r.List != nil && p.byHand:
		p.out.Recorded = append(p.out.Recorded, r)
		return nil
	case r.T < p.last:
		return fmt.Errorf("its time %v is before that of a record before it, %v", time.Duration(r.T), time.Duration(p.last))
	}
	p.last, p.out.Length = r.T, max(0, r.T)
	now := p.started.Add(time.Duration(r.T))
	switch {
	case r.List != nil:
		p.out.Recorded = append(p.out.Recorded, r)
	case r.Begin != nil:
		p.begin(*r.Begin, now)
	case r.End != nil:
		p.ended, p.out.Cut = true, r.End.Error
		return p.wait(now)
	default:
		return p.input(r, now)
	}
	return nil
}

// Result returns the result of the replay so far.
func (p *Player) Result() (Replayed, error) {
	switch {
	case p.state == nil:
		return Replayed{}, errors.New("not a recording: it is empty")
	case p.initial:
		return Replayed{}, errors.New("the recording was cut off before its beginning was complete")
	}
	out := p.out
	if !p.ended && !p.byHand {
		out.Cut = "it has no last line that says so"
	}
	return out, nil
}

// open plays the first record.
func (p *Player) open(r Record) error {
	h := r.Header
	if h == nil {
		return errors.New("not a recording: the first line has no \"recording\"")
	}
	if h.Version != RecordingVersion {
		return fmt.Errorf("a recording of version %d: this program reads version %d", h.Version, RecordingVersion)
	}
	set, err := p.settings(h)
	if err != nil {
		return err
	}
	p.started, p.initial, p.byHand = h.Started, h.Ticks, !h.Ticks
	p.auto = p.instead || p.byHand
	if p.started.IsZero() {
		p.started = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	p.out.Exact = !p.auto
	p.state = newState(Options{
		Settings: set, Sources: h.Sources, Log: slog.New(slog.DiscardHandler), Publish: p.publish, Known: p.known,
		Ask: func(r hid.Request) { p.asked[r.ID] = r },
	}, p.started)
	return nil
}

// settings returns the settings of the replay.
func (p *Player) settings(h *Header) (Settings, error) {
	own, set := h.Settings, p.fallback
	switch {
	case own != nil && !p.instead:
		return *own, nil
	case set.Resolver == nil:
		return set, ErrNoSettings
	}
	opts := set.Resolver.Options()
	if own != nil {
		opts = own.Resolver.Options()
		set.RemovalGrace, set.StaleAfter = own.RemovalGrace, own.StaleAfter
	} else if h.OS != "" {
		opts.OS = h.OS
	}
	var err error
	set.Resolver, err = catalogue.NewResolver(set.Resolver.Catalogue, opts)
	return set, err
}

func (p *Player) publish(s devices.Snapshot) {
	if !p.initial {
		p.Published(s)
		p.out.Lists = append(p.out.Lists, Record{T: Span(p.state.now.Sub(p.started)), List: &List{s.Generation, s.Wire()}})
	}
}

func (p *Player) known(s devices.Snapshot) {
	if !p.initial {
		p.Known(s)
	}
}

func (p *Player) input(r Record, now time.Time) error {
	if r.Configure != nil && p.instead {
		return nil
	}
	if err := p.wait(now); err != nil {
		return err
	}
	if err := p.checkAnswer(r); err != nil {
		return err
	}
	p.out.Inputs++
	p.out.lastInput = r.T
	if p.initial && r.Push != nil {
		p.pushes = append(p.pushes, r)
		return nil
	}
	in := r.stamped(now)
	var out outcome
	p.state.step(now, func(s *state) { out = s.take(in) })
	if p.byHand {
		return out.err // a recorded one was refused then, too
	}
	return nil
}

// checkAnswer finds an answer, in a recording that was written by hand, to something that was never asked: it would change nothing.
func (p *Player) checkAnswer(r Record) error {
	if !p.byHand || r.HID == nil || r.HID.Kind != hid.Answer {
		return nil
	}
	asked, there := p.asked[r.HID.Request]
	switch {
	case there && asked.Node == r.HID.Node && len(asked.Output) > 0 && r.HID.Error == "":
		return fmt.Errorf("request %d to %s was %s: the answer to an output report arrives as a report", asked.ID, asked.Node, asked.What())
	case there && asked.Node == r.HID.Node:
		return nil
	}
	var list []string
	for _, id := range slices.Sorted(maps.Keys(p.asked)) {
		what := p.asked[id].What()
		if len(what) > maxWhat {
			what = what[:maxWhat] + "…"
		}
		list = append(list, fmt.Sprintf("%d to %s, %s", id, p.asked[id].Node, what))
	}
	so := "nothing"
	if len(list) > 0 {
		so = strings.Join(list[max(0, len(list)-maxListed):], "; ")
	}
	return fmt.Errorf("an answer to request %d to %s, which was never made: so far %s was asked", r.HID.Request, r.HID.Node, so)
}

// An error names the last requests, and so many bytes of each.
const (
	maxListed = 8
	maxWhat   = 60
)

// maxLateness is by how much a busy agent may have been late. It then did what was due together with its next input.
const maxLateness = 250 * time.Millisecond

// wait does what is due before now, the time of a record.
func (p *Player) wait(now time.Time) error {
	for steps := 0; p.auto && !p.initial; steps++ {
		due := p.state.due()
		if due.IsZero() || due.After(now) {
			return nil
		}
		if steps == maxIdleSteps {
			return errors.New("nothing but time passes: something falls due again and again")
		}
		if !p.byHand && now.Sub(due) <= maxLateness {
			due = now
		}
		p.state.step(slices.MaxFunc([]time.Time{due, p.state.now}, time.Time.Compare), nil)
	}
	return nil
}

// begin puts the Engine into the state of the recorded one.
func (p *Player) begin(b Begin, now time.Time) {
	s := p.state
	s.now, s.started = now, now.Add(-time.Duration(b.Uptime))
	s.hid.Restore(b.HID)
	s.regroup()
	s.trackUnits()
	for _, inc := range s.units {
		inc.since = now.Add(-2 * lateness)
	}
	for _, u := range b.Units {
		inc := s.units[u.Unit]
		for i, name := range u.Missed {
			since := now // in older recordings
			if i < len(u.MissedAt) {
				since = u.MissedAt[i]
			}
			inc.missedBy(name, since, now)
		}
		if inc != nil && !u.Since.IsZero() {
			inc.since = u.Since
		}
	}
	s.departures = b.Departures
	for _, r := range p.pushes {
		in := *r.Push
		if in.HIDLeft {
			s.units[in.Unit].missedBy(hid.Source, now, now)
		}
		left := in.TTL - Span(now.Sub(p.started.Add(time.Duration(r.T))))
		if in.TTL == 0 || left > 0 {
			in.TTL = max(0, left)
			_, _ = s.push(in) // a push that had no effect may be refused
		}
	}
	s.woke = b.Woke
	s.sent = b.Generation > 0
	s.known = devices.Snapshot{}
	if s.sent {
		s.known = s.grouping().Resolve(s.pushes())
		s.known.Generation = b.Generation
	}
	s.snapshot = s.forClients(s.known)
	s.dirty, p.initial = !s.sent, false
	if s.sent {
		p.Published(s.snapshot)
		p.Known(s.known)
	}
}

// Now returns the time of the replay. Like the two methods below it must not be called before the first record.
func (p *Player) Now() time.Time { return p.state.now }

// View returns what the Engine of the replay shows of its state.
func (p *Player) View() View { return p.state.view() }

// Inputs returns what its present list was resolved from, and by what.
func (p *Player) Inputs() (devices.Inputs, *catalogue.Resolver) {
	return p.state.inputs(), p.state.opts.Resolver
}
