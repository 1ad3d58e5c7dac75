package engine

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
)

// TestSnapshotTellsItsEvent: At is the time of the event behind the change, not of the event
// that happened to come last. What is logged as latency depends on it.
func TestSnapshotTellsItsEvent(t *testing.T) {
	run(t, []string{"audio", "camera"}, func(b *bench) {
		at := func(want time.Time) {
			t.Helper()
			synctest.Wait()
			all := b.published()
			require.Equal(t, want, all[len(all)-1].At)
		}
		b.see("camera")
		b.see("audio", mic(devices.False))
		at(time.Now())

		time.Sleep(time.Hour)
		gone := time.Now()
		b.see("audio")
		time.Sleep(grace / 2)
		b.see("camera") // says nothing new
		time.Sleep(grace)
		require.Empty(t, b.last())
		at(gone)

		b.see("audio", mic(devices.False))
		b.fail("audio")
		time.Sleep(stale)
		at(time.Now())
		require.Empty(t, b.last())

		b.see("audio", mic(devices.False))
		time.Sleep(time.Hour)
		r, err := catalogue.NewResolver(&catalogue.Catalogue{}, devices.Options{OS: devices.Linux})
		require.NoError(t, err)
		b.Configure(Settings{Resolver: r, RemovalGrace: grace, StaleAfter: stale})
		at(time.Now())
	})
}

func TestFirstSnapshotAfterPatienceIsDated(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.fail("audio")
		time.Sleep(stale)
		synctest.Wait()
		require.Equal(t, time.Now(), b.published()[0].At)
	})
}

// A source that goes on remarking the same is said to once.
func TestANoteIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	s := newState(Options{
		Settings: Settings{Resolver: resolver(t)}, Sources: []string{"file"}, Publish: func(devices.Snapshot) {},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}, time.Now())
	note := health.Condition{Code: health.EndpointFileKept, Severity: health.Warning, Args: health.Args{"reason": "it is broken", "path": "e.yaml"}}
	for range 3 {
		s.step(time.Now(), func(s *state) {
			s.take(Input{Observe: &devices.Observation{Source: "file", At: time.Now(), Notes: []health.Condition{note}}})
		})
	}
	require.Equal(t, 1, strings.Count(log.String(), "keeping the last good content"), log.String())
}

// The log names a HID device and says no more of it: a serial number is nobody's business.
func TestLogHasNoSerialNumbers(t *testing.T) {
	for name, handler := range map[string]func(*strings.Builder) slog.Handler{
		"text": func(b *strings.Builder) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *strings.Builder) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			s := newState(Options{Settings: Settings{Resolver: resolver(t)}, Publish: func(devices.Snapshot) {}, Log: slog.New(handler(&log))}, time.Now())
			d := &hid.Device{Node: "hidraw3", VID: "1209", PID: "0700", Name: "Acme", Serial: "SN4711", Container: "bluetooth:SN4711"}
			for _, e := range []hid.Event{
				{Kind: hid.Attached, Node: "hidraw3", Device: d},
				{Kind: hid.Denied, Node: "hidraw3", Device: d, Error: "no"},
				{Kind: hid.Attached, Node: "hidraw4"},
				{Kind: hid.Denied, Node: "hidraw4"},
				{Kind: hid.Gone, Node: "hidraw5"},
			} {
				s.step(time.Now(), func(s *state) { s.take(Input{HID: &e}) })
			}
			require.Equal(t, 2, strings.Count(log.String(), "hidraw3 (Acme, 1209:0700)"), log.String())
			require.Equal(t, 2, strings.Count(log.String(), "hidraw4"), log.String())
			require.NotContains(t, log.String(), "SN4711")
			require.Contains(t, log.String(), "hidraw5")
			require.NotContains(t, log.String(), "reason", "where there is none")
		})
	}
}
