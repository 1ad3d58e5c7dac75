package engine

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"sidetone/internal/devices"
)

// BenchmarkPush is what a push and two looks at the state cost in the Engine's goroutine, as a request to the local API has them,
// with as many leases as there may be.
func BenchmarkPush(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			now := time.Now()
			s := newState(Options{
				Settings: replaySettings(b, devices.Options{}), Sources: []string{"audio"},
				Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler),
			}, now)
			var eps []devices.Endpoint
			for i := range n {
				at := fmt.Sprint("usb:1-", i)
				eps = append(eps, devices.Endpoint{
					ID: at, Name: at, Source: "audio", Type: devices.AudioInput, Bus: devices.USB, VID: "1209", PID: "0700",
					Container: at, Serial: fmt.Sprint(i),
				})
			}
			s.step(now, func(s *state) { s.take(Input{Observe: &devices.Observation{Source: "audio", Endpoints: eps, At: now}}) })
			push := func(i int, v devices.Tri) {
				s.step(now, func(s *state) {
					s.take(Input{Push: &Push{
						Product: "headset", Serial: fmt.Sprint(i % n), Owner: fmt.Sprint("suite ", i), TTL: time.Hour, At: now,
						State: map[devices.Field]devices.Tri{devices.HardwareMute: v},
					}})
				})
			}
			for i := range maxLeases {
				push(i, devices.False)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				push(0, devices.Of(i%2 == 0))
				s.view()
				s.view()
			}
		})
	}
}
