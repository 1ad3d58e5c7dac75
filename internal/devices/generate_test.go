package devices_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"pgregory.net/rapid"
)

// testCatalogue holds a headset (hardware or software mute), a microphone and a webcam.
func testCatalogue() *catalogue.Catalogue {
	no := false
	yes := true
	return &catalogue.Catalogue{
		Schema: catalogue.SchemaVersion,
		Vendor: catalogue.Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678"},
		Products: []catalogue.Product{
			{
				ID: "headset", Name: "Acme Headset", URL: "https://acme.example/headset", Priority: 1,
				Links: []catalogue.Link{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0700"}}, {Kind: catalogue.LinkBluetooth, NameRegex: "^Acme BT"}},
				Endpoints: []catalogue.EndpointRule{
					{Type: devices.AudioInput, Pick: &catalogue.Pick{NameRegex: "Hidden"}, Report: &no},
					{Type: devices.AudioInput},
					{Type: devices.AudioOutput},
				},
				VirtualEndpoints: []catalogue.VirtualRule{{Type: devices.AudioInput, NameRegex: "(?i)echo"}},
				Sources: []catalogue.SourceRule{
					{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
					{Field: devices.AutomaticGainControl, SourceKind: catalogue.SourceKind{ALSACtl: &catalogue.ALSACtl{Name: "Auto Gain Control"}}},
					{Field: devices.AutomaticGainControl, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{}}},
					{Field: devices.EchoCancellation, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{}}},
					{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{}}},
				},
			},
			{
				ID: "mic", Name: "Acme Mic", URL: "https://acme.example/mic", Priority: 2,
				Links:     []catalogue.Link{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0710"}}},
				Endpoints: []catalogue.EndpointRule{{Type: devices.AudioInput}},
				Sources: []catalogue.SourceRule{
					{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}},
					{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{ALSACtl: &catalogue.ALSACtl{Name: "Odd Switch", Invert: true}}},
					{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}},
				},
			},
			{
				ID: "webcam", Name: "Acme Webcam", URL: "https://acme.example/webcam", Priority: 2,
				Links:     []catalogue.Link{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0720"}}},
				Endpoints: []catalogue.EndpointRule{{Type: devices.VideoInput}, {Type: devices.AudioInput}},
				Related:   catalogue.RelatedNone,
			},
		},
	}
}

func testResolver(opts devices.Options) *catalogue.Resolver {
	if opts.OS == "" {
		opts.OS = devices.Linux
	}
	r, err := catalogue.NewResolver(testCatalogue(), opts)
	if err != nil {
		panic(err)
	}
	return r
}

var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// endpoints draws inputs in which names, ids and hardware collide often.
func endpoints() *rapid.Generator[[]devices.Endpoint] {
	return rapid.Custom(func(t *rapid.T) []devices.Endpoint {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		seen := make(map[devices.Key]bool)
		var out []devices.Endpoint
		for range n {
			e := endpoint().Draw(t, "endpoint")
			if !seen[e.Key()] {
				seen[e.Key()] = true
				out = append(out, e)
			}
		}
		return out
	})
}

func endpoint() *rapid.Generator[devices.Endpoint] {
	tri := rapid.SampledFrom([]devices.Tri{devices.Unknown, devices.False, devices.True})
	return rapid.Custom(func(t *rapid.T) devices.Endpoint {
		e := devices.Endpoint{
			Source:    rapid.SampledFrom([]string{"audio", "camera", "file:x"}).Draw(t, "source"),
			Type:      rapid.SampledFrom(devices.Types).Draw(t, "type"),
			ID:        fmt.Sprintf("node%d", rapid.IntRange(0, 5).Draw(t, "id")),
			Name:      rapid.SampledFrom([]string{"", "Acme", "Acme Hidden", "Acme BT", "Acme echo", "Ünïcode \xff name", "default"}).Draw(t, "name"),
			Bus:       rapid.SampledFrom([]devices.Bus{"", devices.USB, devices.Bluetooth, devices.PCI}).Draw(t, "bus"),
			VID:       rapid.SampledFrom([]string{"", "1209"}).Draw(t, "vid"),
			PID:       rapid.SampledFrom([]string{"", "0700", "0710", "0720", "ffff"}).Draw(t, "pid"),
			Serial:    rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "serial"),
			Container: rapid.SampledFrom([]string{"", "usb:1-1", "usb:1-2"}).Draw(t, "container"),
			BusInfo:   rapid.SampledFrom([]string{"", "usb-1"}).Draw(t, "bus_info"),
			Virtual:   rapid.Bool().Draw(t, "virtual"),
			Master:    rapid.SampledFrom([]string{"", "node0", "node1"}).Draw(t, "master"),
			Plugged:   tri.Draw(t, "plugged"),
			Mute:      tri.Draw(t, "mute"),
			Attached:  epoch.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "attached")) * time.Second),
			Stale:     rapid.Bool().Draw(t, "stale"),
			Effects:   map[devices.Field]devices.Tri{devices.NoiseSuppression: tri.Draw(t, "ns"), devices.EchoCancellation: tri.Draw(t, "ec")},
			Controls:  map[string]devices.Tri{"Auto Gain Control": tri.Draw(t, "agc"), "Odd Switch": tri.Draw(t, "odd")},
		}
		e.MuteInHardware = rapid.Bool().Draw(t, "hw")
		return e
	})
}

func shuffled(in []devices.Endpoint, seed uint64) []devices.Endpoint {
	out := append([]devices.Endpoint(nil), in...)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
