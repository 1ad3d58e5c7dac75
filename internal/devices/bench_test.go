package devices

import (
	"fmt"
	"testing"
)

// benchCatalogue holds n products: three in four are USB devices, one in four can also be
// attached by Bluetooth (by name) and has a virtual microphone.
func benchCatalogue(n int) *Catalogue {
	no := false
	cat := &Catalogue{Schema: SchemaVersion, Vendor: Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678"}}
	for i := range n {
		p := Product{
			ID: fmt.Sprintf("model-%d", i), Name: fmt.Sprintf("Acme %d", i), URL: "https://acme.example/p", Priority: 1 + i%5,
			Links:     []Link{{Kind: LinkUSB, VID: "1209", PIDs: []string{fmt.Sprintf("%04x", i)}}},
			Endpoints: []EndpointRule{{Type: AudioInput, Pick: &Pick{NameRegex: "Hidden"}, Report: &no}, {Type: AudioInput}, {Type: AudioOutput}, {Type: VideoInput}},
			Sources: []SourceRule{
				{Field: HardwareMute, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}},
				{Field: AutomaticGainControl, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "Auto Gain Control"}}},
				{Field: NoiseSuppression, SourceKind: SourceKind{OSEffects: &OSEffects{}}},
			},
		}
		if i%4 == 0 {
			p.Links = append(p.Links, Link{Kind: LinkBluetooth, NameRegex: fmt.Sprintf("^Acme BT %d$", i)})
			p.VirtualEndpoints = []VirtualRule{{Type: AudioInput, NameRegex: fmt.Sprintf("(?i)acme %d echo", i)}}
		}
		cat.Products = append(cat.Products, p)
	}
	return cat
}

// benchEndpoints makes n endpoints: units of three (microphone, speaker, camera) by USB, one
// unit in ten by Bluetooth, and one endpoint in ten virtual, of which half are adopted.
func benchEndpoints(n, products int) []Endpoint {
	var out []Endpoint
	for i := range n {
		unit := i / 3
		model := unit % products
		e := Endpoint{
			Source: "audio", ID: fmt.Sprintf("alsa.usb-Acme-%d", i), Type: Types[i%3], Name: fmt.Sprintf("Acme %d unit %d", model, unit),
			Bus: USB, VID: "1209", PID: fmt.Sprintf("%04x", model), Serial: fmt.Sprintf("S%d", unit), Container: fmt.Sprintf("usb:1-%d", unit),
			BusInfo: fmt.Sprintf("usb-%d", unit), Mute: False, MuteInHardware: true,
			Controls: map[string]Tri{"Auto Gain Control": True}, Attached: epoch,
		}
		switch {
		case unit%10 == 9:
			e.Bus, e.VID, e.PID, e.Name = Bluetooth, "", "", fmt.Sprintf("Acme BT %d", model&^3)
		case i%10 == 4:
			e.Virtual, e.Bus, e.VID, e.PID, e.Container, e.Serial = true, "", "", "", "", ""
			e.Type, e.Name = AudioInput, fmt.Sprintf("Acme %d echo cancelled", model&^3)
		}
		out = append(out, e)
	}
	return out
}

// BenchmarkResolveDiff is what one OS event costs: a whole resolution and the difference to
// the list before. It should grow with the endpoints and hardly with the catalogue.
func BenchmarkResolveDiff(b *testing.B) {
	for _, products := range []int{10, 100, 1000} {
		r, err := NewResolver(benchCatalogue(products), Options{OS: Linux, AudioID: IDNative})
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("endpoints=%d/products=%d", n, products), func(b *testing.B) {
				unmuted, muted := benchEndpoints(n, products), benchEndpoints(n, products)
				muted[0].Mute = True
				before := r.Resolve(Inputs{Endpoints: unmuted})
				if len(Diff(before, r.Resolve(Inputs{Endpoints: muted}))) == 0 {
					b.Fatal("a mute makes no difference")
				}
				b.ReportAllocs()
				for b.Loop() {
					after := r.Resolve(Inputs{Endpoints: muted})
					Diff(before, after)
				}
			})
		}
	}
}
