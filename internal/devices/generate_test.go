package devices_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

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
				Links: links{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0700"}}, {Kind: catalogue.LinkBluetooth, NameRegex: "^Acme BT"}},
				Endpoints: []catalogue.EndpointRule{
					{Type: AudioInput, Pick: &catalogue.Pick{NameRegex: "Hidden"}, Report: &no},
					{Type: AudioInput},
					{Type: AudioOutput},
				},
				VirtualEndpoints: []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "(?i)echo"}},
				Sources: rules{
					{Field: HardwareMute, SourceKind: kind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
					{Field: AutomaticGainControl, SourceKind: kind{ALSACtl: &catalogue.ALSACtl{Name: "Auto Gain Control"}}},
					{Field: AutomaticGainControl, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
					{Field: EchoCancellation, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
					{Field: NoiseSuppression, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
				},
			},
			{
				ID: "mic", Name: "Acme Mic", URL: "https://acme.example/mic", Priority: 2,
				Links:     links{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0710"}}},
				Endpoints: []catalogue.EndpointRule{{Type: AudioInput}},
				Sources: rules{
					{Field: HardwareMute, SourceKind: sharedMute},
					{Field: HardwareMute, SourceKind: kind{ALSACtl: &catalogue.ALSACtl{Name: "Odd Switch", Invert: true}}},
					{Field: NoiseSuppression, SourceKind: kind{Const: &yes}},
				},
			},
			{
				ID: "webcam", Name: "Acme Webcam", URL: "https://acme.example/webcam", Priority: 2,
				Links:     links{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0720"}}},
				Endpoints: []catalogue.EndpointRule{{Type: VideoInput}, {Type: AudioInput}},
				Related:   catalogue.RelatedNone,
			},
		},
	}
}

func testResolver(opts Options) *catalogue.Resolver {
	if opts.OS == "" {
		opts.OS = Linux
	}
	r, err := catalogue.NewResolver(testCatalogue(), opts)
	if err != nil {
		panic(err)
	}
	return r
}

var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// endpoints draws inputs in which names, ids and hardware collide often.
func anyEndpoints() *rapid.Generator[[]Endpoint] {
	return rapid.Custom(func(t *rapid.T) []Endpoint {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		seen := make(map[Key]bool)
		var out []Endpoint
		for range n {
			e := anyEndpoint().Draw(t, "endpoint")
			if !seen[e.Key()] {
				seen[e.Key()] = true
				out = append(out, e)
			}
		}
		return out
	})
}

func anyEndpoint() *rapid.Generator[Endpoint] {
	tri := rapid.SampledFrom([]Tri{Unknown, False, True})
	return rapid.Custom(func(t *rapid.T) Endpoint {
		e := endpoint{
			Source:    rapid.SampledFrom([]string{"audio", "camera", "file:x"}).Draw(t, "source"),
			Type:      rapid.SampledFrom(Types).Draw(t, "type"),
			ID:        fmt.Sprintf("node%d", rapid.IntRange(0, 5).Draw(t, "id")),
			Name:      rapid.SampledFrom([]string{"", "Acme", "Acme Hidden", "Acme BT", "Acme echo", "Ünïcode \xff name", "default"}).Draw(t, "name"),
			Bus:       rapid.SampledFrom([]Bus{"", USB, Bluetooth, PCI}).Draw(t, "bus"),
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
			Effects:   flagStates{NoiseSuppression: tri.Draw(t, "ns"), EchoCancellation: tri.Draw(t, "ec")},
			Controls:  states{"Auto Gain Control": tri.Draw(t, "agc"), "Odd Switch": tri.Draw(t, "odd")},
		}
		e.MuteInHardware = rapid.Bool().Draw(t, "hw")
		return e
	})
}

func shuffled(in []Endpoint, seed uint64) []Endpoint {
	out := append([]Endpoint(nil), in...)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
