package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
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
						Product: "headset", Serial: fmt.Sprint(i % n), Owner: fmt.Sprint("suite ", i), TTL: Span(time.Hour), At: now,
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

const (
	busyLength = time.Hour
	busyStep   = 100 * time.Millisecond // from one input to the next
	muteEvery  = 5 * time.Second        // the headset's switch is turned
)

// BenchmarkReplay reads and plays the recording of a busy hour from its text, as 'sidetone replay' does, and only reads it.
func BenchmarkReplay(b *testing.B) {
	recording := busyHour(b)
	eachLine := func(b *testing.B, do func(line []byte) error) {
		for line := range bytes.Lines(recording) {
			require.NoError(b, do(line))
		}
	}
	b.Run("played", func(b *testing.B) {
		for b.Loop() {
			p := NewPlayer(replaySettings(b, devices.Options{}), false)
			eachLine(b, func(line []byte) error {
				var r Record
				if err := json.Unmarshal(line, &r); err != nil {
					return err
				}
				return p.Play(r)
			})
			out, err := p.Result()
			require.NoError(b, err)
			require.Equal(b, int(busyLength/busyStep), out.Inputs)
			require.GreaterOrEqual(b, len(out.Lists), int(busyLength/muteEvery))
			require.Less(b, len(out.Lists), out.Inputs/10, "most inputs change nothing")
		}
		b.ReportMetric(float64(b.N)*busyLength.Seconds()/b.Elapsed().Seconds(), "times-real-time")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			eachLine(b, func(line []byte) error { var v any; return json.Unmarshal(line, &v) })
		}
		b.ReportMetric(float64(b.N)*busyLength.Seconds()/b.Elapsed().Seconds(), "times-real-time")
	})
}

// busyHour is the recording of an hour as somebody would write it by hand, with an input every 100 ms. Most are reports that no
// source reads, such as of a battery; beside these the headset's switch is turned, a vendor's software pushes leases that run
// out, the sound server is read again and the headset is plugged in anew.
func busyHour(b *testing.B) []byte {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	require.NoError(b, out.Encode(Record{Header: &Header{Version: RecordingVersion, Sources: []string{"audio"}, OS: devices.Linux}}))
	for at, i := time.Duration(0), 0; at < busyLength; at, i = at+busyStep, i+1 {
		require.NoError(b, out.Encode(Record{T: Span(at), Input: busyInput(at, i)}))
	}
	return text.Bytes()
}

// busyInput is input number i of the hour.
func busyInput(at time.Duration, i int) Input {
	every := func(period, after time.Duration) bool { return at%period == after }
	const node, container = "hidraw0", "usb:1-3"
	sends := func(report ...byte) Input {
		return Input{HID: &hid.Event{Kind: hid.Report, Node: node, Data: report}}
	}
	switch {
	case every(time.Minute, 0):
		mic := devices.Endpoint{
			ID: "mic", Name: "Headset", Type: devices.AudioInput, Bus: devices.USB, VID: "1209", PID: "0700", Serial: "1", Container: container,
			Mute: devices.Of(at%(2*time.Minute) == 0), MuteInHardware: true,
		}
		speaker := mic
		speaker.ID, speaker.Type, speaker.Mute = "speaker", devices.AudioOutput, devices.Unknown
		return Input{Observe: &devices.Observation{Source: "audio", Endpoints: []devices.Endpoint{mic, speaker}}}
	case every(10*time.Minute, busyStep):
		return Input{HID: &hid.Event{Kind: hid.Attached, Node: node, Device: &hid.Device{
			Node: node, Bus: devices.USB, VID: "1209", PID: "0700", Serial: "1", Container: container, Descriptor: replayDescriptor,
		}}}
	case every(10*time.Minute, 10*time.Minute-busyStep):
		return Input{HID: &hid.Event{Kind: hid.Gone, Node: node}}
	case every(muteEvery, time.Second):
		mute := byte(0)
		if at%(2*muteEvery) == time.Second {
			mute = 0x80
		}
		return sends(2, mute)
	case every(20*time.Second, 2*time.Second):
		return Input{Push: &Push{
			Product: "headset", Owner: "desk", TTL: Span(5 * time.Second), State: map[devices.Field]devices.Tri{devices.NoiseSuppression: devices.True},
		}}
	default:
		return sends(9, byte(i))
	}
}
