package session

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/policy"
)

var schedules = flag.Int("schedules", 10_000, "random schedules to play against the model of the client's bucket")

// A schedule is what happens to a session over HTTP, with times since its start.
type schedule struct {
	changes []change
	resends []time.Duration
	takes   []time.Duration // for each answer in turn, repeated
}

type change struct {
	at   time.Duration
	mute devices.Tri
}

// posted is a list that left, and when.
type posted struct {
	at   time.Duration
	mute devices.Tri
}

func randomSchedule(r *rand.Rand) schedule {
	var s schedule
	at := time.Duration(0)
	for range 1 + r.IntN(12) {
		switch r.IntN(3) { // a storm, a person, a pause
		case 0:
			at += time.Duration(r.Int64N(int64(200 * time.Millisecond)))
		case 1:
			at += time.Duration(r.Int64N(int64(20 * time.Second)))
		default:
			at += time.Duration(r.Int64N(int64(2 * time.Minute)))
		}
		at++ // no two things at one time
		if r.IntN(12) == 0 {
			s.resends = append(s.resends, at)
			at++
		}
		s.changes = append(s.changes, change{at, []devices.Tri{devices.True, devices.False, devices.Unknown}[r.IntN(3)]})
	}
	for range 5 {
		s.takes = append(s.takes, []time.Duration{0, time.Millisecond, time.Duration(r.Int64N(int64(40 * time.Second)))}[r.IntN(3)]+1)
	}
	return s
}

// ideal is what must be posted: the newest list, as soon as the one before is answered and the
// client has a token for it, and nothing that it has already.
func (s schedule) ideal(tokens int, every time.Duration) []posted {
	var out []posted
	level, refilled := time.Duration(tokens)*every, time.Duration(0) // in time that it takes to refill
	known, has := false, devices.Unknown
	checked := time.Duration(-1)
	newest := func(t time.Duration) (devices.Tri, bool) {
		i := slices.IndexFunc(s.changes, func(c change) bool { return c.at > t })
		if i < 0 {
			i = len(s.changes)
		}
		if i == 0 {
			return devices.Unknown, false
		}
		return s.changes[i-1].mute, true
	}
	look := func(t time.Duration) (mute devices.Tri, due bool) {
		for _, at := range s.resends {
			if at > checked && at <= t {
				known = false
			}
		}
		checked = t
		mute, ok := newest(t)
		return mute, ok && (!known || mute != has)
	}
	for t := time.Duration(0); ; {
		mute, due := look(t)
		if !due { // until something happens
			next := time.Duration(-1)
			for _, c := range s.changes {
				if c.at > t && (next < 0 || c.at < next) {
					next = c.at
				}
			}
			for _, at := range s.resends {
				if at > t && (next < 0 || at < next) {
					next = at
				}
			}
			if next < 0 {
				return out
			}
			t = next
			continue
		}
		level = min(level+t-refilled, time.Duration(tokens)*every)
		refilled = t
		if level < every {
			t += every - level
			continue
		}
		out = append(out, posted{t, mute})
		took := s.takes[(len(out)-1)%len(s.takes)] // the token is gone with the answer, not earlier
		t += took
		level, refilled = min(level+took, time.Duration(tokens)*every)-every, t
		known, has = true, mute
	}
}

// TestOverHTTPTheNewestStateGoesWithTheNextToken plays random schedules against the model.
func TestOverHTTPTheNewestStateGoesWithTheNextToken(t *testing.T) {
	t.Parallel()
	const lanes = 4
	for lane := range uint64(lanes) {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			for seed := lane; seed < uint64(*schedules); seed += lanes {
				s := randomSchedule(rand.New(rand.NewPCG(seed, 30)))
				want := s.ideal(2, 30*time.Second)
				var got []posted
				synctest.Test(t, func(t *testing.T) { got = s.play(t) })
				require.Equal(t, want, got, "replay with seed %d: %+v", seed, s)
			}
		})
	}
}

// play lets a session live through the schedule and returns what it posted.
func (s schedule) play(t *testing.T) []posted {
	l := &postLink{takes: s.takes, gone: make(chan struct{}), start: time.Now()}
	bucket := NewTokenBucket(2, 30*time.Second)
	b := &testSession{result: make(chan error, 1)}
	limits := Limits{Overdue: policy.AnswerTimeout, Silent: policy.HTTPTimeout, Hung: policy.HTTPTimeout}
	b.Session = New(Options{
		Link: l, Over: policy.HTTP, Outbox: NewOutbox(), Limits: func() Limits { return limits }, Bucket: bucket, Jitter: rand.Float64,
		Observer: b, EndWhenIdle: t.Context(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { b.result <- b.Run(ctx) }()
	resends := s.resends
	for i, c := range s.changes {
		for len(resends) > 0 && resends[0] < c.at {
			time.Sleep(time.Until(l.start.Add(resends[0])))
			b.Outbox.AskResend()
			synctest.Wait()
			resends = resends[1:]
		}
		time.Sleep(time.Until(l.start.Add(c.at)))
		b.put(uint64(i+1), c.mute)
		synctest.Wait()
	}
	time.Sleep(time.Hour)
	cancel()
	require.ErrorIs(t, <-b.result, context.Canceled)
	last := uint64(0)
	for _, d := range b.deliveries {
		require.GreaterOrEqual(t, d.Snapshot.Generation, last, "never an older state after a newer")
		last = d.Snapshot.Generation
	}
	return l.posts
}

// postLink answers after the given times.
type postLink struct {
	fakeLink
	takes []time.Duration
	gone  chan struct{}
	start time.Time
	posts []posted
}

func (l *postLink) Deliver(ctx context.Context, _ string, payload []byte) error {
	l.posts = append(l.posts, posted{time.Since(l.start), muteOf(payload)})
	time.Sleep(l.takes[(len(l.posts)-1)%len(l.takes)])
	return ctx.Err()
}

func (l *postLink) Lost() <-chan struct{} { return l.gone }
