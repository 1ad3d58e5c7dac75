package devices_test

import (
	"slices"
	"strings"
	"testing"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

// headset700 is a snapshot of a headset that is plugged in, with the given mute; its camera
// is optional.
func headset700(t *testing.T, mute Tri, more ...Endpoint) Snapshot {
	t.Helper()
	same := func(e *endpoint) { e.Container, e.Mute, e.MuteInHardware = "c1", mute, true }
	eps := append(endpoints{
		with(usb("in", AudioInput, "0700"), same), with(usb("out", AudioOutput, "0700"), same),
	}, more...)
	return resolve(t, diffCatalogue(), native, eps...)
}

func diffCatalogue() *catalogue.Catalogue {
	return catalogueOf(
		product{ID: "h", Name: "Acme Headset 700", Priority: 1, Links: links{usbLink("0700")}, Sources: rules{
			{Field: HardwareMute, SourceKind: sharedMute},
			{Field: EchoCancellation, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
			{Field: NoiseSuppression, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
			{Field: AutomaticGainControl, SourceKind: kind{ALSACtl: &catalogue.ALSACtl{Name: "AGC"}}},
		}},
		product{ID: "c", Name: "Acme Webcam", Priority: 2, Links: links{usbLink("0720")}},
	)
}

func TestDiffReasons(t *testing.T) {
	none := Snapshot{}
	cam := usb("cam", VideoInput, "0720")
	effects := func(v Tri) Snapshot {
		s := resolve(t, diffCatalogue(), native, with(usb("in", AudioInput, "0700"), func(e *endpoint) {
			e.Effects = flagStates{EchoCancellation: v, NoiseSuppression: v}
			e.Controls = states{"AGC": v}
		}))
		return s
	}
	reordered := headset700(t, True, cam)
	reordered.Devices = append([]Report{reordered.Devices[2]}, reordered.Devices[:2]...)
	renamed := headset700(t, True)
	renamed.Devices = append([]Report(nil), renamed.Devices...)
	renamed.Devices[0].Vendor.Name = "Acme Inc"

	cases := map[string]struct {
		a, b Snapshot
		want string
	}{
		"nothing":                {headset700(t, True), headset700(t, True), ""},
		"nothing, both empty":    {none, none, ""},
		"plugged in":             {none, headset700(t, True), "Acme Headset 700 added (audioinput, audiooutput)"},
		"unplugged":              {headset700(t, True), none, "Acme Headset 700 removed (audioinput, audiooutput)"},
		"two products":           {headset700(t, True, cam), none, "Acme Headset 700 removed (audioinput, audiooutput); Acme Webcam removed (videoinput)"},
		"one for another":        {headset700(t, True), resolve(t, diffCatalogue(), native, cam), "Acme Headset 700 removed (audioinput, audiooutput); Acme Webcam added (videoinput)"},
		"muted":                  {headset700(t, False), headset700(t, True), "Acme Headset 700: mic muted by the button or in the sound settings (os_endpoint_mute)"},
		"unmuted":                {headset700(t, True), headset700(t, False), "Acme Headset 700: mic unmuted by the button or in the sound settings (os_endpoint_mute)"},
		"mute no longer known":   {headset700(t, True), headset700(t, Unknown), "Acme Headset 700: mic mute unknown"},
		"plugged and muted":      {headset700(t, False), headset700(t, True, cam), "Acme Webcam added (videoinput); Acme Headset 700: mic muted by the button or in the sound settings (os_endpoint_mute)"},
		"all processing on":      {effects(Unknown), effects(True), "Acme Headset 700: echo cancellation on (os_effects); Acme Headset 700: noise suppression on (os_effects); Acme Headset 700: gain control on (alsa_ctl)"},
		"all processing off":     {effects(True), effects(False), "Acme Headset 700: echo cancellation off (os_effects); Acme Headset 700: noise suppression off (os_effects); Acme Headset 700: gain control off (alsa_ctl)"},
		"all processing unknown": {effects(True), effects(Unknown), "Acme Headset 700: echo cancellation unknown; Acme Headset 700: noise suppression unknown; Acme Headset 700: gain control unknown"},
		"part of a unit goes": {
			headset700(t, True), resolve(t, diffCatalogue(), native, with(usb("in", AudioInput, "0700"), func(e *endpoint) { e.Container, e.Mute, e.MuteInHardware = "c1", True, true })),
			"Acme Headset 700 removed (audiooutput); Acme Headset 700 (audioinput): description changed",
		},
		"another vendor name": {headset700(t, True), renamed, "Acme Headset 700 (audioinput): description changed"},
		"order":               {headset700(t, True, cam), reordered, "order of devices changed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changes := Diff(c.a, c.b)
			require.Equal(t, c.want, Reasons(changes))
			require.Equal(t, c.want == "", SameWire(c.a.Wire(), c.b.Wire()))
			removed := slices.ContainsFunc(changes, func(ch Change) bool { return ch.Removed })
			require.Equal(t, strings.Contains(c.want, " removed ("), removed)
		})
	}
}

// TestDiffOfTwoUnits tells each unit by itself although they are of one model.
func TestDiffOfTwoUnits(t *testing.T) {
	unit := func(id string) Endpoint {
		return with(usb(id, AudioInput, "0700"), func(e *endpoint) { e.Container = id })
	}
	both := resolve(t, diffCatalogue(), native, unit("a"), unit("b"))
	one := resolve(t, diffCatalogue(), native, unit("a"))
	require.Equal(t, slices.Repeat([]Change{{Reason: "Acme Headset 700 added (audioinput)"}}, 2), Diff(Snapshot{}, both))
	require.Equal(t, []Change{{Reason: "Acme Headset 700 removed (audioinput)", Removed: true}}, Diff(both, one))
}

// TestOriginAloneIsNoChange to the client, but one to the status.
func TestOriginAloneIsNoChange(t *testing.T) {
	a := headset700(t, True)
	b := resolve(t, diffCatalogue(), native,
		with(usb("in", AudioInput, "0700"), func(e *endpoint) {
			e.Container, e.Mute, e.MuteInHardware, e.Stale = "c1", True, true, true
		}),
		with(usb("out", AudioOutput, "0700"), func(e *endpoint) { e.Container = "c1" }))
	require.Empty(t, Diff(a, b))
	require.True(t, SameWire(a.Wire(), b.Wire()))
	require.False(t, a.Equal(b))
}

func TestSnapshotEqual(t *testing.T) {
	a, b := headset700(t, True), headset700(t, True)
	b.Generation, b.At = 7, epoch
	require.True(t, a.Equal(b), "when and how often do not count")
	require.False(t, a.Equal(headset700(t, False)))
	require.False(t, a.Equal(headset700(t, True, usb("stranger", AudioInput, "ffff"))), "what is withheld counts")
	require.False(t, a.Equal(Snapshot{}))
}

func TestWireIsACopyWithRelated(t *testing.T) {
	s := Snapshot{Devices: []Report{{Device: Device{Type: AudioInput, ID: "x"}}}}
	w := s.Wire()
	require.Equal(t, []string{}, w[0].Related)
	w[0].ID = "y"
	require.Equal(t, "x", s.Devices[0].ID)
}
