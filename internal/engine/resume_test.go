package engine

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// What a headset has said since the machine woke still counts once that is told, if it is told when it woke.
func TestRecordedWake(t *testing.T) {
	const level = `{"t":"%s","hid":{"happening":"report","node":"hidraw0","data":"%s"}}` + "\n"
	attached := `{"t":"1s","hid":{"happening":"attached","node":"hidraw0","device":{"node":"hidraw0","bus":"usb","vid":"1209","pid":"0700","container":"usb:1-2","interface":0,"descriptor":"` +
		hex.EncodeToString(replayDescriptor) + `"}}}` + "\n"
	before := byHand + plugged + attached + fmt.Sprintf(level, "2s", "02 00") + `{"t":"10s","tick":true}` + "\n"
	for resumed, want := range map[string]any{
		`{"slept":"8h0m0s","awake":"1s"}`:    true,
		`{"slept":"8h0m0s","awake":"100ms"}`: false, // as the OS has it, since nothing else is known
		`{"slept":"8h0m0s"}`:                 false,
	} {
		trace := before + fmt.Sprintf(level, "20s", "02 80") + `{"t":"20.4s","resumed":` + resumed + "}\n" + `{"t":"1m0s","tick":true}` + "\n"
		out, err := replay(readRecords(t, trace), replaySettings(t, devices.Options{}), false)
		require.NoError(t, err)
		require.Equal(t, want, *out.Lists[len(out.Lists)-1].List.Devices[0].HardwareMute, resumed)
	}
}

func TestResumedTellsWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last devices.Snapshot
		e := New(Options{Settings: replaySettings(t, devices.Options{}), Publish: func(s devices.Snapshot) { last = s }, Log: slog.New(slog.DiscardHandler)})
		go e.Run(t.Context())
		e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{{
			ID: "mic", Source: "audio", Type: devices.AudioInput, Name: "Mic", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-2",
		}}})
		say := func(data ...byte) {
			e.HID(hid.Event{Kind: hid.Report, Node: "hidraw0", Data: data, At: time.Now()})
		}
		e.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
			Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-2", Descriptor: replayDescriptor,
		}})
		say(2, 0)
		time.Sleep(time.Hour)
		woke := time.Now()
		time.Sleep(time.Second)
		say(2, 0x80)
		time.Sleep(time.Second)
		e.Resumed(woke)
		require.Equal(t, devices.True, last.Devices[0].Flags[devices.HardwareMute].Value)
		e.Resumed(time.Time{})
		require.Equal(t, devices.Unknown, last.Devices[0].Flags[devices.HardwareMute].Value)
	})
}

// The news of a sleep may come after that of a later one: what was forgotten stays forgotten.
func TestTheNewsOfAnEarlierSleepComesLater(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.Unknown))
		woke := time.Now()
		time.Sleep(time.Minute)
		said := time.Now()
		time.Sleep(time.Minute)
		b.Resumed(time.Time{})
		b.Resumed(woke)
		p := suite(time.Hour, muteOn)
		p.At = said
		_, err := b.Push(p)
		require.ErrorIs(t, err, errAsleep)
	})
}

// TestOnlySleepShortensAPause, by a clock that nobody sets, and each sleep once.
func TestOnlySleepShortensAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asleep time.Duration
		e := New(Options{
			Settings: replaySettings(t, devices.Options{}), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler),
			Elapsed: func() time.Duration { return 100*time.Hour + time.Since(began) + asleep },
		})
		go e.Run(t.Context())
		e.Pause(Pause{For: Span(8 * time.Hour)})
		left := func() time.Duration { return time.Until(e.View().Paused.Until) }
		time.Sleep(time.Hour)
		e.Resumed(time.Time{})
		require.Equal(t, 7*time.Hour, left(), "it did not sleep")
		for _, one := range []time.Duration{2 * time.Hour, time.Hour} {
			before := left()
			asleep += one
			e.Resumed(time.Now())
			require.Equal(t, before-one, left())
		}
	})
}
