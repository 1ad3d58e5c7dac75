package devices_test

import (
	"testing"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

// headset700 is a snapshot of a headset that is plugged in, with the given mute; its camera
// is optional.
func headset700(t *testing.T, mute devices.Tri, more ...devices.Endpoint) devices.Snapshot {
	t.Helper()
	same := func(e *devices.Endpoint) { e.Container, e.Mute, e.MuteInHardware = "c1", mute, true }
	eps := append([]devices.Endpoint{
		with(usb("in", devices.AudioInput, "0700"), same), with(usb("out", devices.AudioOutput, "0700"), same),
	}, more...)
	return resolve(t, diffCatalogue(), native, eps...)
}

func diffCatalogue() *catalogue.Catalogue {
	return catalogueOf(
		catalogue.Product{ID: "h", Name: "Acme Headset 700", Priority: 1, Links: []catalogue.Link{usbLink("0700")}, Sources: []catalogue.SourceRule{
			{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}},
			{Field: devices.EchoCancellation, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{}}},
			{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{}}},
			{Field: devices.AutomaticGainControl, SourceKind: catalogue.SourceKind{ALSACtl: &catalogue.ALSACtl{Name: "AGC"}}},
		}},
		catalogue.Product{ID: "c", Name: "Acme Webcam", Priority: 2, Links: []catalogue.Link{usbLink("0720")}},
	)
}

func TestDiffReasons(t *testing.T) {
	none := devices.Snapshot{}
	cam := usb("cam", devices.VideoInput, "0720")
	effects := func(v devices.Tri) devices.Snapshot {
		s := resolve(t, diffCatalogue(), native, with(usb("in", devices.AudioInput, "0700"), func(e *devices.Endpoint) {
			e.Effects = map[devices.Field]devices.Tri{devices.EchoCancellation: v, devices.NoiseSuppression: v}
			e.Controls = map[string]devices.Tri{"AGC": v}
		}))
		return s
	}
	reordered := headset700(t, devices.True, cam)
	reordered.Devices = append([]devices.Report{reordered.Devices[2]}, reordered.Devices[:2]...)
	renamed := headset700(t, devices.True)
	renamed.Devices = append([]devices.Report(nil), renamed.Devices...)
	renamed.Devices[0].Vendor.Name = "Acme Inc"

	cases := map[string]struct {
		a, b devices.Snapshot
		want string
	}{
		"nothing":                {headset700(t, devices.True), headset700(t, devices.True), ""},
		"nothing, both empty":    {none, none, ""},
		"plugged in":             {none, headset700(t, devices.True), "Acme Headset 700 added (audioinput, audiooutput)"},
		"unplugged":              {headset700(t, devices.True), none, "Acme Headset 700 removed (audioinput, audiooutput)"},
		"two products":           {headset700(t, devices.True, cam), none, "Acme Headset 700 removed (audioinput, audiooutput); Acme Webcam removed (videoinput)"},
		"one for another":        {headset700(t, devices.True), resolve(t, diffCatalogue(), native, cam), "Acme Headset 700 removed (audioinput, audiooutput); Acme Webcam added (videoinput)"},
		"muted":                  {headset700(t, devices.False), headset700(t, devices.True), "Acme Headset 700: mic muted by the button or in the sound settings (os_endpoint_mute)"},
		"unmuted":                {headset700(t, devices.True), headset700(t, devices.False), "Acme Headset 700: mic unmuted by the button or in the sound settings (os_endpoint_mute)"},
		"mute no longer known":   {headset700(t, devices.True), headset700(t, devices.Unknown), "Acme Headset 700: mic mute unknown"},
		"plugged and muted":      {headset700(t, devices.False), headset700(t, devices.True, cam), "Acme Webcam added (videoinput); Acme Headset 700: mic muted by the button or in the sound settings (os_endpoint_mute)"},
		"all processing on":      {effects(devices.Unknown), effects(devices.True), "Acme Headset 700: echo cancellation on (os_effects); Acme Headset 700: noise suppression on (os_effects); Acme Headset 700: gain control on (alsa_ctl)"},
		"all processing off":     {effects(devices.True), effects(devices.False), "Acme Headset 700: echo cancellation off (os_effects); Acme Headset 700: noise suppression off (os_effects); Acme Headset 700: gain control off (alsa_ctl)"},
		"all processing unknown": {effects(devices.True), effects(devices.Unknown), "Acme Headset 700: echo cancellation unknown; Acme Headset 700: noise suppression unknown; Acme Headset 700: gain control unknown"},
		"part of a unit goes": {
			headset700(t, devices.True), resolve(t, diffCatalogue(), native, with(usb("in", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container, e.Mute, e.MuteInHardware = "c1", devices.True, true })),
			"Acme Headset 700 removed (audiooutput); Acme Headset 700 (audioinput): description changed",
		},
		"another vendor name": {headset700(t, devices.True), renamed, "Acme Headset 700 (audioinput): description changed"},
		"order":               {headset700(t, devices.True, cam), reordered, "order of devices changed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changes := devices.Diff(c.a, c.b)
			require.Equal(t, c.want, devices.Reasons(changes))
			require.Equal(t, c.want == "", devices.SameWire(c.a.Wire(), c.b.Wire()))
			for _, ch := range changes {
				require.Equal(t, ch.Reason, ch.String())
			}
		})
	}
}

func TestDiffOfAFlag(t *testing.T) {
	changes := devices.Diff(headset700(t, devices.False), headset700(t, devices.True))
	require.Equal(t, []devices.Change{{
		Kind: devices.FlagSet, Model: "Acme Headset 700", Types: []devices.Type{devices.AudioInput}, IDs: []string{"in"},
		Field: devices.HardwareMute, From: devices.False, To: devices.True, Origin: devices.Origin{Via: devices.ViaOSEndpointMute, Detail: "in", Shared: true},
		Reason: "Acme Headset 700: mic muted by the button or in the sound settings (os_endpoint_mute)",
	}}, changes)
}

// TestDiffOfTwoUnits tells each unit by itself although they are of one model.
func TestDiffOfTwoUnits(t *testing.T) {
	unit := func(id string) devices.Endpoint {
		return with(usb(id, devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container = id })
	}
	changes := devices.Diff(devices.Snapshot{}, resolve(t, diffCatalogue(), native, unit("a"), unit("b")))
	require.Len(t, changes, 2)
	require.Equal(t, []string{"a"}, changes[0].IDs)
	require.Equal(t, []string{"b"}, changes[1].IDs)
}

// TestOriginAloneIsNoChange to the client, but one to the status.
func TestOriginAloneIsNoChange(t *testing.T) {
	a := headset700(t, devices.True)
	b := resolve(t, diffCatalogue(), native,
		with(usb("in", devices.AudioInput, "0700"), func(e *devices.Endpoint) {
			e.Container, e.Mute, e.MuteInHardware, e.Stale = "c1", devices.True, true, true
		}),
		with(usb("out", devices.AudioOutput, "0700"), func(e *devices.Endpoint) { e.Container = "c1" }))
	require.Empty(t, devices.Diff(a, b))
	require.True(t, devices.SameWire(a.Wire(), b.Wire()))
	require.False(t, a.Equal(b))
}

func TestSnapshotEqual(t *testing.T) {
	a, b := headset700(t, devices.True), headset700(t, devices.True)
	b.Generation, b.At = 7, epoch
	require.True(t, a.Equal(b), "when and how often do not count")
	require.False(t, a.Equal(headset700(t, devices.False)))
	require.False(t, a.Equal(headset700(t, devices.True, usb("stranger", devices.AudioInput, "ffff"))), "what is withheld counts")
	require.False(t, a.Equal(devices.Snapshot{}))
}

func TestWireIsACopyWithRelated(t *testing.T) {
	s := devices.Snapshot{Devices: []devices.Report{{Device: devices.Device{Type: devices.AudioInput, ID: "x"}}}}
	w := s.Wire()
	require.Equal(t, []string{}, w[0].Related)
	w[0].ID = "y"
	require.Equal(t, "x", s.Devices[0].ID)
}
