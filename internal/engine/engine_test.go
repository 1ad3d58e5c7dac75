package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/health"
)

const (
	grace = time.Second
	stale = 30 * time.Second
)

func resolver(t *testing.T) *catalogue.Resolver {
	t.Helper()
	software := false
	r, err := catalogue.NewResolver(&catalogue.Catalogue{
		Schema: 1, Vendor: catalogue.Vendor{Name: "Acme", URL: "https://acme.example"},
		Products: []catalogue.Product{{
			ID: "headset", Name: "Headset", URL: "https://acme.example/h", Priority: 1,
			Links:     []catalogue.Link{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0700"}}},
			Endpoints: []catalogue.EndpointRule{{Type: devices.AudioInput}, {Type: devices.AudioOutput}},
			Sources:   []catalogue.SourceRule{{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &software}}}},
		}},
	}, devices.Options{OS: devices.Linux})
	require.NoError(t, err)
	return r
}

func mic(mute devices.Tri) devices.Endpoint {
	return devices.Endpoint{
		Source: "audio", ID: "mic", Name: "Mic", Type: devices.AudioInput, Bus: devices.USB,
		VID: "1209", PID: "0700", Container: "usb:1-1", Mute: mute,
	}
}

// bench runs an Engine under a fake clock and collects what it publishes.
type bench struct {
	*Engine
	t  *testing.T
	mu sync.Mutex
	in []devices.Snapshot
}

func (b *bench) publish(s devices.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in = append(b.in, s)
}

func (b *bench) published() []devices.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.in)
}

func run(t *testing.T, sources []string, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		b.Engine = New(Options{
			Settings: Settings{Resolver: resolver(t), RemovalGrace: grace, StaleAfter: stale},
			Sources:  sources,
			Publish:  b.publish,
			Log:      slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		go b.Run(ctx)
		test(b)
		cancel()
		synctest.Wait()
	})
}

func (b *bench) see(source string, endpoints ...devices.Endpoint) {
	b.Observe(devices.Observation{Source: source, Endpoints: endpoints, At: time.Now()})
	synctest.Wait()
}

func (b *bench) fail(source string) {
	b.Observe(devices.Observation{Source: source, Err: errors.New("server gone"), At: time.Now()})
	synctest.Wait()
}

// last is the published wire list; generations must rise by one each time.
func (b *bench) last() []devices.Device {
	b.t.Helper()
	all := b.published()
	require.NotEmpty(b.t, all)
	for i, s := range all {
		require.Equal(b.t, uint64(i+1), s.Generation)
	}
	return all[len(all)-1].Wire()
}

func TestPublishesOnlyChanges(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		require.Equal(t, false, *b.last()[0].HardwareMute)
		b.see("audio", mic(devices.False))
		require.Len(t, b.published(), 1)
		b.see("audio", mic(devices.True))
		require.Equal(t, true, *b.last()[0].HardwareMute)
		b.see("audio", mic(devices.Unknown))
		require.Nil(t, b.last()[0].HardwareMute)
		require.Len(t, b.published(), 3)
	})
}

func TestRemovalWaitsForGrace(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		attached := b.published()[0].At
		b.see("audio")
		time.Sleep(grace - time.Millisecond)
		synctest.Wait()
		require.Len(t, b.last(), 1, "still within the grace period")
		b.see("audio", mic(devices.False)) // a USB reset
		time.Sleep(2 * grace)
		synctest.Wait()
		require.Len(t, b.published(), 1, "a reset within the grace period is no change")
		require.Equal(t, attached, b.published()[0].At)

		b.see("audio")
		time.Sleep(grace / 2)
		b.see("audio") // another event does not prolong it
		time.Sleep(grace/2 + time.Millisecond)
		synctest.Wait()
		require.Empty(t, b.last())
	})
}

// TestOneEnumeratorAtATime: a sound server that starts beside ALSA's list names the same devices anew. Nothing waits for its list, and
// nothing of the other one is there beside it.
func TestOneEnumeratorAtATime(t *testing.T) {
	of := func(by, id string) devices.Endpoint {
		e := mic(devices.Unknown)
		e.ID, e.Name, e.SeenBy = id, id, []string{by}
		return e
	}
	for name, first := range map[string][]devices.Endpoint{"at once": {of("pulse", "pulse_mic")}, "with nothing at first": nil} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				b.see("audio", of("alsa", "hw:CARD=Headset,DEV=0"), of("alsa", "hw:CARD=Headset,DEV=1"))
				b.see("audio", of("alsa", "hw:CARD=Headset,DEV=0"))
				require.Len(t, b.last(), 2, "one of them is gone, for which its grace period counts")
				b.see("audio", first...)
				b.see("audio", of("pulse", "pulse_mic"))
				for _, s := range b.published() {
					ids := map[bool]int{}
					for _, d := range s.Wire() {
						ids[d.ID == "pulse_mic"]++
					}
					require.Less(t, len(ids), 2, "both lists: %v", s.Wire())
				}
				require.Len(t, b.last(), 1)
				require.Equal(t, "pulse_mic", b.last()[0].ID)
			})
		})
	}
}

func TestErrorIsNotAnEmptyList(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.True))
		b.fail("audio")
		time.Sleep(stale - time.Millisecond)
		synctest.Wait()
		require.Len(t, b.last(), 1)
		flag := b.published()[len(b.published())-1].Devices[0].Flags[devices.HardwareMute]
		require.True(t, flag.Origin.Stale, "the value is shown as the last good one")
		require.Equal(t, Failing, b.View().Sources[0].Condition)

		b.see("audio", mic(devices.True)) // back in time
		time.Sleep(2 * stale)
		synctest.Wait()
		require.Len(t, b.last(), 1)

		b.fail("audio")
		time.Sleep(stale / 2)
		b.fail("audio") // failing again does not renew the patience
		time.Sleep(stale/2 + time.Millisecond)
		synctest.Wait()
		require.Empty(t, b.last())
		require.Equal(t, 0, b.View().Sources[0].Endpoints)
	})
}

func TestFirstListWaitsForAllSources(t *testing.T) {
	run(t, []string{"audio", "camera"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		require.Empty(t, b.published(), "the camera has not answered")
		b.fail("camera")
		require.Len(t, b.last(), 1, "a failing source holds up nothing but an empty list")
	})
}

func TestUnknownIsNotPublishedAsNone(t *testing.T) {
	run(t, []string{"audio", "camera"}, func(b *bench) {
		b.see("camera")
		b.fail("audio")
		require.Equal(t, Waiting, b.View().Sources[0].Condition)
		time.Sleep(stale - time.Millisecond)
		synctest.Wait()
		require.Empty(t, b.published(), "no sound server yet: the list is unknown, not empty")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, b.last())
		require.Len(t, b.published(), 1)
	})
}

func TestConfigureResolvesAfresh(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.True))
		r, err := catalogue.NewResolver(&catalogue.Catalogue{}, devices.Options{OS: devices.Linux})
		require.NoError(t, err)
		b.Configure(Settings{Resolver: r, RemovalGrace: grace, StaleAfter: stale})
		synctest.Wait()
		require.Empty(t, b.last())
		require.Contains(t, health.English.Phrase(b.published()[1].Withheld[0].Condition()), "names no such device")
	})
}

func TestQuietWhenNothingIsDue(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.True))
		time.Sleep(24 * time.Hour) // a timer that fired would publish or deadlock the bubble
		synctest.Wait()
		require.Len(t, b.published(), 1)
	})
}

func TestMethodsReturnAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{Settings: Settings{Resolver: resolver(t)}, Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		go e.Run(ctx)
		cancel()
		synctest.Wait()
		e.Observe(devices.Observation{Source: "audio"})
		require.Empty(t, e.View().Sources)
	})
}
