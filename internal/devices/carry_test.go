package devices_test

import (
	"testing"
	"time"

	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func TestCarry(t *testing.T) {
	t1, t2 := epoch.Add(time.Second), epoch.Add(2*time.Second)
	mic := func(f func(*Endpoint)) []Endpoint {
		return endpoints{with(endpoint{Source: "audio", ID: "mic", Type: AudioInput}, f)}
	}
	nothing := asItIs
	cases := map[string]struct {
		before, now []Endpoint
		attached    time.Time
		changed     map[string]time.Time
	}{
		"new": {nil, mic(nothing), t2, map[string]time.Time{}},
		"new, with facts": {nil, mic(func(e *endpoint) {
			e.Mute, e.Controls = True, states{"AGC": False, "x": Unknown}
		}), t2, map[string]time.Time{"mute": t2, "control:AGC": t2}},
		"was there":      {mic(nothing), mic(nothing), t1, map[string]time.Time{}},
		"same value":     {mic(softMute(True)), mic(softMute(True)), t1, map[string]time.Time{"mute": t1}},
		"another value":  {mic(softMute(True)), mic(softMute(False)), t1, map[string]time.Time{"mute": t2}},
		"became known":   {mic(nothing), mic(softMute(False)), t1, map[string]time.Time{"mute": t2}},
		"became unknown": {mic(softMute(True)), mic(nothing), t1, map[string]time.Time{}},
		"effects and controls": {mic(func(e *endpoint) {
			e.Effects, e.Controls = flagStates{NoiseSuppression: True}, states{"a": True}
		}), mic(func(e *endpoint) {
			e.Effects, e.Controls = flagStates{NoiseSuppression: True}, states{"a": False}
		}), t1, map[string]time.Time{"effect:noise_suppression": t1, "control:a": t2}},
		"of another type":                 {mic(nothing), mic(func(e *endpoint) { e.Type = AudioOutput }), t2, map[string]time.Time{}},
		"of another source":               {mic(nothing), mic(func(e *endpoint) { e.Source = "file" }), t2, map[string]time.Time{}},
		"the source knows when":           {nil, mic(func(e *endpoint) { e.Attached = epoch }), epoch, map[string]time.Time{}},
		"memory before the source's own":  {mic(nothing), mic(func(e *endpoint) { e.Attached = epoch }), t1, map[string]time.Time{}},
		"what a source claims of changes": {nil, mic(func(e *endpoint) { e.Changed = map[string]time.Time{"mute": epoch} }), t2, map[string]time.Time{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Carry(Carry(nil, c.before, t1), c.now, t2)
			require.Len(t, got, 1)
			require.Equal(t, c.attached, got[0].Attached)
			require.Equal(t, c.changed, got[0].Changed)
		})
	}
}

func TestCarryHoldsEachKeyOnceAndSorted(t *testing.T) {
	e := func(id string) Endpoint {
		return endpoint{Source: "audio", ID: id, Type: AudioInput}
	}
	twice := e("b")
	twice.Name = "second"
	got := Carry(nil, endpoints{e("c"), e("b"), twice, e("a")}, epoch)
	require.Len(t, got, 3)
	for i, id := range []string{"a", "b", "c"} {
		require.Equal(t, id, got[i].ID)
	}
	require.Empty(t, got[1].Name, "the first one counts")
}

func TestCarryDoesNotTouchItsArguments(t *testing.T) {
	prev := Carry(nil, endpoints{usb("a", AudioInput, "0700")}, epoch)
	next := endpoints{usb("b", AudioInput, "0700"), usb("a", AudioInput, "0700")}
	Carry(prev, next, epoch.Add(time.Hour))
	require.Equal(t, "b", next[0].ID)
	require.Nil(t, next[0].Changed)
	require.Equal(t, epoch, prev[0].Attached)
}

// TestEveryPresenceHasItsOwnAge: what was unplugged and comes back is attached anew.
func TestEveryPresenceHasItsOwnAge(t *testing.T) {
	plain := endpoints{{Source: "audio", ID: "mic", Type: AudioInput, Mute: True}}
	first := Carry(nil, plain, epoch)
	gone := Carry(first, nil, epoch.Add(time.Second))
	require.Empty(t, gone)
	back := Carry(gone, plain, epoch.Add(time.Minute))
	require.Equal(t, epoch.Add(time.Minute), back[0].Attached)
	require.Equal(t, epoch.Add(time.Minute), back[0].Changed["mute"])
}
