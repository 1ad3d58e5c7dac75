package engine

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// mutedHeadset is a microphone that is muted, and one list that says so.
func mutedHeadset(b *bench) {
	b.t.Helper()
	b.see("audio", mic(devices.True))
	require.True(b.t, *b.last()[0].HardwareMute)
}

func TestPause(t *testing.T) {
	for list, told := range map[devices.PauseList]int{devices.PauseEmpty: 0, devices.PauseUnmuted: 1, "": 0} {
		t.Run(string(list), func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				b.Configure(Settings{Resolver: resolver(t), RemovalGrace: grace, StaleAfter: stale, PauseList: list})
				mutedHeadset(b)
				b.Pause(Pause{For: Span(time.Hour)})
				require.Len(t, b.last(), told)
				for _, d := range b.last() {
					require.Nil(t, d.HardwareMute, "a mute that stays is the worst that could happen")
				}
				require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value, "the agent's own state says what is known")
				require.Equal(t, time.Now().Add(time.Hour), b.View().Paused.Until)

				lists, changed := len(b.published()), b.Changed()
				b.see("audio", mic(devices.False))
				require.Len(t, b.published(), lists, "a mute is nothing that clients are told")
				require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value)
				require.Equal(t, b.published()[lists-1].Generation, b.View().Snapshot.Generation)
				select {
				case <-changed:
				default:
					require.Fail(t, "who watches sees it")
				}

				b.pass(time.Hour - time.Nanosecond)
				require.NotNil(t, b.View().Paused)
				b.pass(time.Nanosecond)
				require.Nil(t, b.View().Paused)
				require.False(t, *b.last()[0].HardwareMute)
			})
		})
	}
}

func TestPauseUntilSomebodyEndsIt(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.Unpause() // there is none
		mutedHeadset(b)
		b.Pause(Pause{For: Span(time.Second)})
		b.Pause(Pause{}) // in its place
		b.pass(1000 * time.Hour)
		require.Equal(t, Paused{}, *b.View().Paused)
		b.see("audio")
		b.pass(grace)
		b.see("audio", mic(devices.True))
		require.Empty(t, b.last())
		b.Configure(Settings{Resolver: resolver(t), RemovalGrace: grace, StaleAfter: stale, PauseList: devices.PauseUnmuted})
		require.Nil(t, b.last()[0].HardwareMute, "a reload keeps the pause, and changes its list")
		b.Unpause()
		require.True(t, *b.last()[0].HardwareMute)
		require.Nil(t, b.View().Paused)
	})
}

// TestPauseFromTheStart: an agent that starts while reporting is paused says nothing before that.
func TestPauseFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		var known atomic.Int64
		b.Engine = New(Options{
			Settings: Settings{Resolver: resolver(t), RemovalGrace: grace, StaleAfter: stale}, Sources: []string{"audio"},
			Pause: &Pause{For: Span(time.Minute)}, Publish: b.publish,
			Known: func(s devices.Snapshot) { known.Store(int64(len(s.Devices))) }, Log: slog.New(slog.DiscardHandler),
		})
		go b.Run(t.Context())
		b.see("audio", mic(devices.True))
		require.Empty(t, b.last())
		require.EqualValues(t, 1, known.Load())
		b.pass(time.Minute)
		require.Len(t, b.last(), 1)
	})
}

// TestPauseGoesOnInSleep: an hour is an hour of the user's.
func TestPauseGoesOnInSleep(t *testing.T) {
	s := newState(Options{Settings: Settings{Resolver: resolver(t)}, Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)}, time.Now())
	now := s.started
	s.step(now, func(s *state) { s.take(Input{Pause: &Pause{For: Span(time.Hour)}}) })
	s.step(now.Add(time.Minute), func(s *state) { s.take(Input{Resumed: &Resumed{Slept: Span(30 * time.Minute)}}) })
	require.Equal(t, now.Add(30*time.Minute), s.due())
	s.step(now.Add(2*time.Minute), func(s *state) { s.take(Input{Resumed: &Resumed{Slept: Span(time.Hour)}}) })
	require.Nil(t, s.paused)
}

// TestPauseIsRecorded: a recording tells of the pause that it begins in, and replays to the same lists.
func TestPauseIsRecorded(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		mutedHeadset(b)
		b.Pause(Pause{For: Span(time.Minute)})
		b.pass(time.Second)
		var records []Record
		stop, _ := b.Record("test", func(r Record) { records = append(records, r) })
		b.see("audio", mic(devices.False))
		b.pass(time.Minute)
		b.Pause(Pause{})
		b.Unpause()
		stop()
		out, err := replay(records, Settings{}, false)
		require.NoError(t, err)
		require.True(t, out.Exact)
		require.Len(t, out.Lists, 3)
		require.Empty(t, out.Differences())
	})
}

// TestPauseOfAnOlderRecording: an older agent could pause until the next log-in, which the agent's clock does not tell.
func TestPauseOfAnOlderRecording(t *testing.T) {
	var in Input
	require.NoError(t, decode([]byte(`{"pause":{"until_login":true}}`), &in))
	run(t, []string{"audio"}, func(b *bench) {
		b.Pause(*in.Pause)
		require.Equal(t, Paused{}, *b.View().Paused)
	})
}
