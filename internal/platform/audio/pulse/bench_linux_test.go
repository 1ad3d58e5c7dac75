package pulse_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jfreymuth/pulse/proto"
	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/testlab"
)

func forEach(b *testing.B, f func(*testing.B, *testlab.SoundServer)) {
	for _, kind := range testlab.SoundKinds {
		b.Run(string(kind), func(b *testing.B) {
			s := testlab.SoundForTest(b, kind)
			plug(b, s)
			f(b, s)
		})
	}
}

// BenchmarkMute is the way of a mute: asked for on one connection, its event on another, the
// new state read there.
func BenchmarkMute(b *testing.B) {
	forEach(b, func(b *testing.B, s *testlab.SoundServer) {
		ctx := context.Background()
		events := make(chan time.Time, 1)
		c := dial(b, s, func(pulse.Facility, pulse.EventType, uint32) {
			select {
			case events <- time.Now():
			default:
			}
		})
		button := dial(b, s, nil)
		require.NoError(b, c.Subscribe(ctx, pulse.OnSource))
		sources, err := c.Sources(ctx)
		require.NoError(b, err)
		mic := find(b, sources, acme.Name+"_mic")
		var whole, reading []time.Duration
		for b.Loop() {
			want := !mic.Mute
			acknowledged := make(chan error, 1)
			start := time.Now()
			go func() { acknowledged <- button.SetSourceMute(ctx, mic.Name, want) }()
			var event time.Time
			for mic.Mute != want {
				event = <-events
				if mic, err = c.Source(ctx, mic.Index); err != nil {
					b.Fatal(err)
				}
			}
			whole, reading = append(whole, time.Since(start)), append(reading, time.Since(event))
			if err := <-acknowledged; err != nil {
				b.Fatal(err)
			}
		}
		percentiles(b, "mute-to-read", whole)
		percentiles(b, "event-to-read", reading)
	})
}

func percentiles(b *testing.B, name string, d []time.Duration) {
	slices.Sort(d)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(d[(len(d)-1)*p/100].Microseconds()), fmt.Sprintf("us-%s-p%d", name, p))
	}
}

// BenchmarkSource reads one source.
func BenchmarkSource(b *testing.B) {
	forEach(b, func(b *testing.B, s *testlab.SoundServer) {
		c := dial(b, s, nil)
		sources, err := c.Sources(context.Background())
		require.NoError(b, err)
		index := find(b, sources, acme.Name+"_mic").Index
		b.Run("ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Source(context.Background(), index); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("jfreymuth", func(b *testing.B) {
			other := dialOther(b, s)
			b.ReportAllocs()
			for b.Loop() {
				var r proto.GetSourceInfoReply
				if err := other.Request(&proto.GetSourceInfo{SourceIndex: index}, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkSnapshot reads all lists in one round trip.
func BenchmarkSnapshot(b *testing.B) {
	forEach(b, func(b *testing.B, s *testlab.SoundServer) {
		b.Run("ours", func(b *testing.B) {
			c := dial(b, s, nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Snapshot(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("jfreymuth", func(b *testing.B) {
			other := dialOther(b, s)
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range []struct {
					ask    proto.RequestArgs
					answer proto.Reply
				}{
					{&proto.GetServerInfo{}, &proto.GetServerInfoReply{}},
					{&proto.GetSourceInfoList{}, &proto.GetSourceInfoListReply{}},
					{&proto.GetSinkInfoList{}, &proto.GetSinkInfoListReply{}},
					{&proto.GetCardInfoList{}, &proto.GetCardInfoListReply{}},
					{&proto.GetModuleInfoList{}, &proto.GetModuleInfoListReply{}},
				} {
					if err := other.Request(r.ask, r.answer); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	})
}

// BenchmarkDial connects and hangs up.
func BenchmarkDial(b *testing.B) {
	forEach(b, func(b *testing.B, s *testlab.SoundServer) {
		for b.Loop() {
			c, err := pulse.Dial(context.Background(), s.Socket(), pulse.Options{})
			if err != nil {
				b.Fatal(err)
			}
			_ = c.Close()
		}
	})
}
