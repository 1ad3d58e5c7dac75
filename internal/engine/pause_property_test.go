package engine

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/testlab"
)

// twins are two Engines that are told the same, but for pauses: those only one of them hears of.
type twins struct {
	t               *testing.T
	now             time.Time
	pausing, always *state
	lists           map[*state]devices.Snapshot // that were published last
	paused          bool                        // as the test reckons it
	until           time.Time                   // when the pause ends; zero: when somebody ends it
}

func newTwins(t *testing.T) *twins {
	w := &twins{t: t, now: time.Unix(1e9, 0), lists: make(map[*state]devices.Snapshot)}
	twin := func(guard func(devices.Snapshot)) (s *state) {
		s = newState(Options{
			Settings: w.settings(devices.PauseEmpty), Sources: []string{"audio"}, Log: slog.New(slog.DiscardHandler),
			Publish: func(list devices.Snapshot) {
				require.Equal(t, w.lists[s].Generation+1, list.Generation)
				w.lists[s] = list
				guard(list)
			},
		}, w.now)
		return s
	}
	w.always = twin(func(devices.Snapshot) {})
	w.pausing = twin(func(list devices.Snapshot) {
		for _, d := range list.Wire() {
			require.False(t, w.paused && d.HardwareMute != nil, "a mute in a pause")
		}
	})
	return w
}

func (w *twins) settings(list devices.PauseList) Settings {
	return Settings{Resolver: resolver(w.t), RemovalGrace: grace, StaleAfter: stale, PauseList: list}
}

// tell tells both, or with alone set only the one that pauses.
func (w *twins) tell(alone bool, in Input) {
	for _, s := range []*state{w.pausing, w.always} {
		if s == w.pausing || !alone {
			s.step(w.now, func(s *state) { s.take(in) })
		}
	}
	w.check()
}

// pass lets time pass, and what is due happen.
func (w *twins) pass(d time.Duration) {
	end := w.now.Add(d)
	for {
		next := end
		for _, s := range []*state{w.pausing, w.always} {
			if due := s.due(); !due.IsZero() && due.Before(next) {
				next = due
			}
		}
		w.now = next
		w.expire()
		for _, s := range []*state{w.pausing, w.always} {
			s.step(w.now, nil)
		}
		w.check()
		if next.Equal(end) {
			return
		}
	}
}

func (w *twins) expire() {
	if w.paused && !w.until.IsZero() && !w.now.Before(w.until) {
		w.paused = false
	}
}

// check requires that both know the same, and that the clients of the one that pauses have what those of the other have, or in
// a pause what is made of it.
func (w *twins) check() {
	w.t.Helper()
	require.Equal(w.t, w.paused, w.pausing.paused != nil)
	require.Equal(w.t, w.always.known.Devices, w.pausing.known.Devices, "a pause changes nothing of what is known")
	want := w.lists[w.always]
	if w.paused {
		want = w.always.known.Paused(w.pausing.opts.PauseList)
	}
	require.Equal(w.t, want.Wire(), w.lists[w.pausing].Wire())
	require.Equal(w.t, w.pausing.known.Generation, w.lists[w.pausing].Generation, "who waits for a list waits for one that is sent")
}

// TestPausesLeaveNothingBehind: whatever happens before, in and after pauses, clients have in the end what those of an agent have that
// was never paused, and a recording begun anywhere replays to the same.
func TestPausesLeaveNothingBehind(t *testing.T) {
	if testlab.RanUnraced(t) { // there is one goroutine only
		return
	}
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			w := newTwins(t)
			w.tell(false, Input{Observe: &devices.Observation{Source: "audio", At: w.now}})
			var records []Record
			recorder := &recorder{write: func(r Record) { records = append(records, r) }, ended: make(chan struct{})}
			begin := r.IntN(150)
			for n := range 200 {
				if n == begin {
					w.pausing.step(w.now, func(s *state) { s.startRecorder(recorder, "test") })
				}
				w.anything(r)
				if r.IntN(2) == 0 {
					w.pass(time.Duration(r.Int64N(int64(40 * time.Second))))
				}
			}
			w.paused = false
			w.tell(true, Input{Unpause: true})
			w.pausing.endRecorders()
			out, err := replay(records, Settings{}, false)
			require.NoError(t, err)
			require.True(t, out.Exact)
			require.Empty(t, out.Differences())
		})
	}
}

// anything has something happen.
func (w *twins) anything(r *rand.Rand) {
	tri := []devices.Tri{devices.Unknown, devices.False, devices.True}[r.IntN(3)]
	span := Span(r.Int64N(int64(90*time.Second))) + 1
	switch r.IntN(12) {
	case 0, 1, 2:
		w.tell(false, Input{Observe: &devices.Observation{Source: "audio", Endpoints: []devices.Endpoint{mic(tri)}, At: w.now}})
	case 3:
		w.tell(false, Input{Observe: &devices.Observation{Source: "audio", At: w.now}})
	case 4:
		w.tell(false, Input{Observe: &devices.Observation{Source: "audio", Err: fmt.Errorf("gone"), At: w.now}})
	case 5, 6:
		p := Push{Product: "headset", Owner: "suite", TTL: span, State: flags{devices.HardwareMute: tri}, At: w.now}
		if r.IntN(3) == 0 {
			p.TTL, p.Holder = 0, "holder"
		}
		w.tell(false, Input{Push: &p})
	case 7:
		w.tell(false, Input{Release: "holder"})
	case 8:
		if !w.until.IsZero() {
			w.until = w.until.Add(-time.Duration(span))
		}
		w.expire()
		w.tell(false, Input{Resumed: &Resumed{Slept: span}})
	case 9:
		set := w.settings([]devices.PauseList{devices.PauseEmpty, devices.PauseUnmuted, ""}[r.IntN(3)])
		w.tell(false, Input{Configure: &set})
	case 10:
		p := Pause{For: span}
		w.paused, w.until = true, w.now.Add(time.Duration(span))
		if r.IntN(2) == 0 {
			p, w.until = Pause{}, time.Time{}
		}
		w.tell(true, Input{Pause: &p})
	default:
		w.paused = false
		w.tell(true, Input{Unpause: true})
	}
}
