package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// successor is another Engine, that has been told what b hands over.
func (b *bench) successor(see ...devices.Endpoint) *bench {
	b.t.Helper()
	next := &bench{t: b.t}
	next.Engine = New(Options{
		Settings: Settings{Resolver: resolver(b.t), RemovalGrace: grace, StaleAfter: stale}, Sources: []string{"audio"},
		Publish: next.publish, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(b.t.Context())
	b.t.Cleanup(cancel)
	go next.Run(ctx)
	next.see("audio", see...)
	return next
}

// goOn hands over from b to next, over the wire.
func (b *bench) goOn(next *bench) {
	b.t.Helper()
	text, err := json.Marshal(b.Handover(5 * time.Second))
	require.NoError(b.t, err)
	var inputs []Input
	require.NoError(b.t, json.Unmarshal(text, &inputs))
	next.ApplyHandover(inputs, 0)
}

func TestLeasesAreHandedOver(t *testing.T) {
	a, other := headsetAt("a"), headsetAt("b")
	other.Serial = "B2"
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", a, other)
		p := suite(10*time.Minute, muteOn)
		p.Serial, p.Seq = "B2", 7
		b.push(p)
		held := Push{Product: "headset", Serial: "B2", Owner: "held", Holder: "connection 1", State: flags{devices.NoiseSuppression: devices.True}, At: time.Now()}
		b.push(held)
		later := suite(time.Hour, muteOn)
		later.Serial = "C3" // waits for its unit
		b.push(later)
		b.pass(4 * time.Minute)
		next := b.successor(a, other)
		require.Equal(t, map[string]devices.Tri{"Mic a": untold, "Mic b": untold}, next.mutes())
		b.goOn(next)
		require.Equal(t, b.mutes(), next.mutes())
		was, is := b.View().Leases, next.View().Leases
		require.Equal(t, devices.True, is[0].State[devices.NoiseSuppression])
		require.Equal(t, was[1].Since[devices.HardwareMute].Unix(), is[1].Since[devices.HardwareMute].Unix(), "since when it is so")

		_, err := b.Push(p)
		require.ErrorIs(t, err, ErrEnded, "it would be lost")
		again := p
		again.Seq, again.TTL = 6, Span(6*time.Minute)
		next.push(again) // over a new connection, which counts for itself
		b.CancelHandover()
		p.Seq = 7
		b.push(p)

		next.Release("connection 1") // another one has that name there
		require.Len(t, next.View().Leases, 3)
		b.pass(5 * time.Second)
		require.Len(t, next.View().Leases, 2, "that of a connection has had time to come back")
		b.pass(6*time.Minute - 6*time.Second)
		require.Equal(t, yes, next.mutes()["Mic b"])
		b.pass(2 * time.Second)
		require.Equal(t, untold, next.mutes()["Mic b"], "ten minutes are over")
		c := headsetAt("c")
		c.Serial = "C3"
		next.see("audio", a, other, c)
		require.Equal(t, yes, next.mutes()["Mic c"])
	})
}

func TestALeaseIsNotHandedOverToAnotherPresence(t *testing.T) {
	a := headsetAt("a")
	for name, c := range map[string]struct {
		before func(b *bench, next *bench)
		want   devices.Tri
	}{
		"it is there": {func(*bench, *bench) {}, yes},
		"it came to both meanwhile": {func(b, next *bench) {
			for _, e := range []*bench{b, next} {
				e.see("audio")
				e.pass(time.Minute)
			}
			for _, e := range []*bench{b, next} {
				e.see("audio", a)
			}
			b.pass(time.Second)
			b.push(suite(time.Hour, muteOn))
		}, yes},
		"it is gone": {func(_, next *bench) {
			next.see("audio")
			next.pass(time.Minute)
		}, untold},
		"it is leaving": {func(_, next *bench) { next.see("audio") }, untold},
		"it was away, and the other one has not seen it": {func(_, next *bench) {
			next.see("audio")
			next.pass(time.Minute)
			next.see("audio", a)
		}, untold},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				b.see("audio", a)
				b.push(suite(time.Hour, muteOn))
				b.pass(time.Minute)
				next := b.successor(a)
				b.pass(time.Second)
				c.before(b, next)
				b.goOn(next)
				require.Equal(t, c.want, next.mutes()["Mic a"])
			})
		})
	}
}

// TestWhatWasHandedOverLongAgo: leases and the pause have run on, and what was said by a clock that was set back since is no later than now.
func TestWhatWasHandedOverLongAgo(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		a := headsetAt("a")
		b.see("audio", a)
		b.push(suite(time.Minute, muteOn))
		b.Pause(Pause{For: Span(time.Minute)})
		inputs := b.Handover(5 * time.Second)
		for age, want := range map[time.Duration]struct {
			leases int
			paused bool
		}{0: {1, true}, 30 * time.Second: {1, true}, time.Hour: {}} {
			next := b.successor(a)
			next.ApplyHandover(inputs, age)
			if !want.paused {
				time.Sleep(time.Millisecond)
			}
			v := next.View()
			require.Len(t, v.Leases, want.leases)
			require.Equal(t, want.paused, v.Paused != nil)
			if want.paused {
				require.Equal(t, time.Minute-age, time.Until(v.Paused.Until))
				require.Equal(t, time.Minute-age, time.Until(v.Leases[0].Until))
			}
		}
		next := b.successor(a)
		p := suite(10*time.Minute, muteOn)
		p.At = time.Now().Round(0).Add(time.Hour)
		next.ApplyHandover([]Input{{Push: &p}}, 0)
		require.Equal(t, yes, next.mutes()["Mic a"])
		b.pass(time.Second)
		p = suite(time.Minute, flags{devices.HardwareMute: devices.False})
		p.Owner = "other"
		next.push(p)
		require.Equal(t, devices.False, next.mutes()["Mic a"], "the newer word counts")
	})
}

func TestAPauseIsHandedOver(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.True))
		b.Pause(Pause{For: Span(time.Hour)})
		b.pass(20 * time.Minute)
		next := b.successor(mic(devices.True))
		require.Len(t, next.last(), 1)
		b.goOn(next)
		require.Empty(t, next.last())
		b.pass(40*time.Minute + time.Second)
		require.Len(t, next.last(), 1)
		next.Pause(Pause{}) // as it may have found in a file
		b.goOn(next)
		require.Len(t, next.last(), 1)
	})
}

// TestWhatIsHandedOverIsRecorded: each is an input, and the replay comes to the same lists.
func TestWhatIsHandedOverIsRecorded(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		a := headsetAt("a")
		b.see("audio", a)
		b.push(suite(time.Minute, muteOn))
		b.Pause(Pause{For: Span(10 * time.Second)})
		next := b.successor(a)
		var records []Record
		stop, _ := next.Record("test", func(r Record) { records = append(records, r) })
		b.pass(time.Second)
		b.goOn(next)
		b.pass(time.Minute)
		stop()
		out, err := replay(records, Settings{}, false)
		require.NoError(t, err)
		require.True(t, out.Exact)
		require.Len(t, out.Lists, 3, "paused, muted, the end of the lease")
		require.Empty(t, out.Differences())
	})
}

func TestSettled(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		published, quiet := b.Settled()
		require.False(t, published || quiet)
		b.see("audio", headsetAt("a"))
		published, quiet = b.Settled()
		require.True(t, published && quiet)
		synctest.Wait()
	})
}

// TestTheWallClockIsSetDuringAHandover: what was pushed is as old for the other agent as it is for this one.
func TestTheWallClockIsSetDuringAHandover(t *testing.T) {
	for _, by := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
		run(t, []string{"audio"}, func(b *bench) {
			b.see("audio")
			next := b.successor()
			b.pass(time.Minute)
			b.see("audio", headsetAt("a"))
			next.see("audio", headsetAt("a"))
			b.pass(time.Minute)
			b.push(suite(10*time.Minute, muteOn))
			b.pass(time.Minute)
			inputs := b.Handover(5 * time.Second)
			for _, in := range inputs {
				if in.Push != nil {
					in.Push.At = in.Push.At.Round(0).Add(-by)
				}
			}
			next.ApplyHandover(inputs, 0)
			was, is := b.View().Leases, next.View().Leases
			require.Len(t, is, 1, "%v", by)
			require.Equal(t, devices.True, is[0].State[devices.HardwareMute], "%v", by)
			require.Zero(t, was[0].Since[devices.HardwareMute].Compare(is[0].Since[devices.HardwareMute]), "%v", by)
		})
	}
}
