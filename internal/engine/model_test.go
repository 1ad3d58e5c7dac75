package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/testlab"
)

// model says a second time, as a function of time instead of timers, what the Engine shows:
// an endpoint until grace after it went, the endpoints of a source until stale after it began
// to fail, nothing before every source has answered, and no empty list before every source
// has succeeded or stale has passed.
type model struct {
	started   time.Time
	resolver  *catalogue.Resolver
	sources   map[string]*modelSource
	published bool
}

type modelSource struct {
	answered, succeeded bool
	failedAt            time.Time
	seen                map[devices.Key]*modelEndpoint
}

type modelEndpoint struct {
	devices.Endpoint
	gone time.Time // zero while it is there
}

func newModel(r *catalogue.Resolver) *model {
	m := &model{started: time.Now(), resolver: r, sources: map[string]*modelSource{}}
	for _, name := range sources {
		m.sources[name] = &modelSource{}
	}
	return m
}

func (s *modelSource) shows(e *modelEndpoint, now time.Time) bool {
	return (e.gone.IsZero() || now.Before(e.gone.Add(grace))) && (s.failedAt.IsZero() || now.Before(s.failedAt.Add(stale)))
}

func (m *model) observe(o devices.Observation, now time.Time) {
	s := m.sources[o.Source]
	s.answered = true
	if o.Err != nil {
		if s.failedAt.IsZero() {
			s.failedAt = now
		}
		return
	}
	next := map[devices.Key]*modelEndpoint{}
	for k, e := range s.seen {
		if s.shows(e, now) {
			next[k] = e
			if e.gone.IsZero() {
				e.gone = now
			}
		}
	}
	for _, e := range o.Endpoints {
		attached := o.At
		if old, ok := next[e.Key()]; ok {
			attached = old.Attached
		}
		e.Attached = attached
		next[e.Key()] = &modelEndpoint{Endpoint: e}
	}
	s.seen, s.succeeded, s.failedAt = next, true, time.Time{}
}

// list is what the client should have at a time at which nothing happens.
func (m *model) list(now time.Time) (list string, ok bool) {
	var in devices.Inputs
	answered, succeeded := true, true
	for _, s := range m.sources {
		answered, succeeded = answered && s.answered, succeeded && s.succeeded
		for _, e := range s.seen {
			if s.shows(e, now) {
				in.Endpoints = append(in.Endpoints, e.Endpoint)
			}
		}
	}
	wire := m.resolver.Resolve(in).Wire()
	if !m.published && (!answered || len(wire) == 0 && !succeeded && now.Before(m.started.Add(stale))) {
		return "", false
	}
	return text(wire), true
}

// edges are the times in (after, until] at which the list may change by itself, in order,
// and until.
func (m *model) edges(after, until time.Time) []time.Time {
	at := map[time.Time]bool{until: true}
	add := func(t time.Time) {
		if t.After(after) && !t.After(until) {
			at[t] = true
		}
	}
	add(m.started.Add(stale))
	for _, s := range m.sources {
		add(s.failedAt.Add(stale))
		for _, e := range s.seen {
			add(e.gone.Add(grace))
		}
	}
	return slices.SortedFunc(maps.Keys(at), time.Time.Compare)
}

// publication is one list and when it became the list.
type publication struct {
	at   time.Duration // since the start
	list string
}

// TestHourAgainstModel plays whole hours in fake time. At every moment the Engine must have
// published what the model says, each change of it at the very nanosecond, and nothing else.
func TestHourAgainstModel(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(1, 2, 3, 4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			if seed > raced && testlab.RanUnraced(t) {
				return
			}
			synctest.Test(t, func(t *testing.T) { playAgainstModel(t, seed) })
		})
	}
}

func playAgainstModel(t *testing.T, seed uint64) {
	hour := record(seed, nil)
	all := resolvers(t)
	w := newWorld()
	w.failing["audio"] = seed%2 == 0 // half of the hours start without a sound server
	start := time.Now()
	var mu sync.Mutex
	var published []publication
	var generation uint64
	eng := engine.New(engine.Options{
		Settings: w.settings(all, grace, stale), Sources: sources, Log: slog.New(slog.DiscardHandler),
		Publish: func(s devices.Snapshot) {
			mu.Lock()
			defer mu.Unlock()
			if s.Generation != generation+1 {
				t.Errorf("generation %d after %d", s.Generation, generation)
			}
			generation = s.Generation
			list := text(s.Wire()) // a publication may only concern origins, ages or withheld endpoints
			if n := len(published); n == 0 || published[n-1].list != list {
				published = append(published, publication{time.Since(start), list})
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	go eng.Run(ctx)
	defer synctest.Wait()
	defer cancel()
	synctest.Wait()

	m := newModel(all[0])
	var expected []publication
	expect := func(at time.Time) {
		list, ok := m.list(at)
		if ok && (!m.published || list != expected[len(expected)-1].list) {
			expected, m.published = append(expected, publication{at.Sub(start), list}), true
		}
	}
	fails := func(done []event) {
		t.Logf("replay with -run TestHourAgainstModel -seed %d\n%s", seed, listing(done))
		t.FailNow()
	}
	for i, e := range hour {
		// What should happen by itself until the event, at the event, and has happened.
		now := start.Add(e.at)
		for _, edge := range m.edges(time.Now(), now) {
			expect(edge)
		}
		time.Sleep(time.Until(now))
		synctest.Wait()
		for _, source := range w.apply(e) {
			o := w.reading(source, now)
			m.observe(o, now)
			eng.Observe(o)
			expect(now)
		}
		if e.do == configure {
			m.resolver = all[e.n]
			eng.Configure(w.settings(all, grace, stale))
			expect(now)
		}
		synctest.Wait()
		mu.Lock()
		got := published
		mu.Unlock()
		if len(got) != len(expected) || len(got) > 0 && got[len(got)-1] != expected[len(expected)-1] {
			k := 0
			for k < len(got) && k < len(expected) && got[k] == expected[k] {
				k++
			}
			t.Errorf("after event %d: list %d differs:\nwant %v\ngot  %v", i, k, at(expected, k), at(got, k))
			fails(hour[:i+1])
		}
	}
	require.Equal(t, published, expected)
	require.Greater(t, len(expected), 500, "an hour in which little happens tests little")
}

func at(list []publication, k int) string {
	if k >= len(list) {
		return "nothing"
	}
	return fmt.Sprintf("at %s %s", list[k].at, list[k].list)
}
