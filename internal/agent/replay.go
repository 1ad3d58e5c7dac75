package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// Replayed is what the replay of a recording has come to.
type Replayed struct {
	Inputs int      // that were replayed
	Length Span     // of time, on the recording's clock
	Lists  []Record // that the replay has published
	Taped  []Record // that the recording has
	Exact  bool     // the recording holds every step, and was replayed with its own settings
}

// Differences says where the lists of the replay differ from those of the recording; none: they are
// the same, byte for byte. Unless the replay is exact only what was sent counts, not when.
func (r Replayed) Differences() []string {
	var out []string
	for i := range max(len(r.Lists), len(r.Taped)) {
		switch {
		case i >= len(r.Taped):
			out = append(out, fmt.Sprintf("list %d, at %v, is not in the recording: %s", i+1, time.Duration(r.Lists[i].T), r.text(r.Lists[i])))
		case i >= len(r.Lists):
			out = append(out, fmt.Sprintf("list %d, at %v, does not come: %s", i+1, time.Duration(r.Taped[i].T), r.text(r.Taped[i])))
		case r.text(r.Lists[i]) != r.text(r.Taped[i]):
			out = append(out, fmt.Sprintf("list %d, at %v, differs:\n  recorded %s\n  replayed %s", i+1, time.Duration(r.Taped[i].T), r.text(r.Taped[i]), r.text(r.Lists[i])))
		}
	}
	return out
}

func (r Replayed) text(rec Record) string {
	if !r.Exact {
		rec.T = 0
		list := *rec.List
		list.Generation = 0
		rec.List = &list
	}
	b, err := rec.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// maxIdleSteps ends a replay in which things fall due without end.
const maxIdleSteps = 100_000

// Replay plays a recording under a virtual clock. fallback are the settings for a recording without
// its own; with instead they replace those of every recording, but for the options of its resolver.
func Replay(recording []Record, fallback Settings, instead bool) (Replayed, error) {
	p, err := newPlayer(recording, fallback, instead)
	if err != nil {
		return Replayed{}, err
	}
	for i, r := range recording[1:] {
		if err := p.play(r); err != nil {
			return Replayed{}, fmt.Errorf("record %d of the recording: %w", i+2, err)
		}
	}
	return p.out, nil
}

// player is a replay under way.
type player struct {
	state   *state
	started time.Time
	last    Span
	past    bool // what was known before is being told
	auto    bool // what is due happens by itself
	byHand  bool // nobody recorded it
	keep    bool // the settings of the recording do not count
	steps   int
	out     Replayed
}

func newPlayer(recording []Record, set Settings, instead bool) (*player, error) {
	if len(recording) == 0 || recording[0].Header == nil {
		return nil, errors.New("not a recording: the first line has no \"recording\"")
	}
	h := recording[0].Header
	if h.Version != RecordingVersion {
		return nil, fmt.Errorf("a recording of version %d: this program reads version %d", h.Version, RecordingVersion)
	}
	if own := h.Settings; own != nil {
		if instead {
			o := own.Resolver.Options()
			r, err := devices.NewResolver(set.Resolver.Catalogue(), o)
			if err != nil {
				return nil, err
			}
			set = Settings{Resolver: r, RemovalGrace: own.RemovalGrace, StaleAfter: own.StaleAfter}
		} else {
			set = *own
		}
	}
	p := &player{started: h.Started, past: h.Ticks, auto: instead || !h.Ticks, byHand: !h.Ticks, keep: instead}
	if p.started.IsZero() {
		p.started = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	p.out.Exact = !p.auto
	p.last = Span(-1 << 62)
	p.state = newState(Options{Settings: set, Sources: h.Sources, Log: slog.New(slog.DiscardHandler), Publish: p.publish}, p.started)
	return p, nil
}

func (p *player) publish(s devices.Snapshot) {
	if !p.past {
		p.out.Lists = append(p.out.Lists, Record{T: Span(p.state.now.Sub(p.started)), List: &List{s.Generation, s.Wire()}})
	}
}

func (p *player) play(r Record) error {
	if r.T < p.last {
		return fmt.Errorf("its time %v is before that of the record before it", time.Duration(r.T))
	}
	p.last = r.T
	now := p.started.Add(time.Duration(r.T))
	switch {
	case r.Header != nil:
		return errors.New("a second beginning")
	case r.List != nil:
		p.out.Taped = append(p.out.Taped, r)
		return nil
	case r.Client != nil:
		return nil
	case r.Begin != nil:
		p.begin(*r.Begin, now)
		return nil
	case r.Configure != nil && p.keep:
		return nil
	}
	if err := p.wait(now); err != nil {
		return err
	}
	p.out.Inputs++
	p.out.Length = r.T
	in := r.Input
	stamp(&in, now)
	var out outcome
	p.state.step(now, func(s *state) { out = s.take(in) })
	if p.byHand {
		return out.err // a recorded one was refused then, too
	}
	return nil
}

// wait lets happen what is due before now.
func (p *player) wait(now time.Time) error {
	for p.auto && !p.past {
		due := p.state.due()
		if due.IsZero() || due.After(now) {
			return nil
		}
		if p.steps++; p.steps > maxIdleSteps {
			return errors.New("nothing but time passes: something falls due again and again")
		}
		p.state.step(slices.MaxFunc([]time.Time{due, p.state.now}, time.Time.Compare), nil)
	}
	return nil
}

// begin puts the Engine where the recorded one was.
func (p *player) begin(b Begin, now time.Time) {
	s := p.state
	s.now, s.started, s.awake = now, now.Add(-time.Duration(b.Uptime)), now
	s.hid.Restore(b.HID)
	s.sent = b.Generation > 0
	s.snapshot = devices.Snapshot{}
	if s.sent {
		s.snapshot = s.opts.Resolver.Resolve(s.inputs())
		s.snapshot.Generation = b.Generation
	}
	s.dirty, p.past = !s.sent, false
}

// stamp gives an input that was written by hand its time.
func stamp(in *Input, now time.Time) {
	switch {
	case in.Observe != nil && in.Observe.At.IsZero():
		o := *in.Observe
		o.At = now
		in.Observe = &o
	case in.HID != nil && in.HID.At.IsZero():
		h := *in.HID
		h.At = now
		in.HID = &h
	case in.Push != nil && in.Push.At.IsZero():
		q := *in.Push
		q.At = now
		in.Push = &q
	}
}
