package devices_test

import (
	"fmt"
	"testing"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"
)

// benchCatalogue holds n products: three in four are USB devices, one in four can also be
// attached by Bluetooth (by name) and has a virtual microphone.
func benchCatalogue(n int) *catalogue.Catalogue {
	no := false
	cat := &catalogue.Catalogue{Schema: catalogue.SchemaVersion, Vendor: catalogue.Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678"}}
	for i := range n {
		p := product{
			ID: fmt.Sprintf("model-%d", i), Name: fmt.Sprintf("Acme %d", i), URL: "https://acme.example/p", Priority: 1 + i%5,
			Links:     links{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{fmt.Sprintf("%04x", i)}}},
			Endpoints: []catalogue.EndpointRule{{Type: AudioInput, Pick: &catalogue.Pick{NameRegex: "Hidden"}, Report: &no}, {Type: AudioInput}, {Type: AudioOutput}, {Type: VideoInput}},
			Sources: rules{
				{Field: HardwareMute, SourceKind: kind{HIDReport: &catalogue.HIDReport{}}},
				{Field: HardwareMute, SourceKind: sharedMute},
				{Field: AutomaticGainControl, SourceKind: kind{ALSACtl: &catalogue.ALSACtl{Name: "Auto Gain Control"}}},
				{Field: NoiseSuppression, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
			},
		}
		if i%4 == 0 {
			p.Links = append(p.Links, link{Kind: catalogue.LinkBluetooth, NameRegex: fmt.Sprintf("^Acme BT %d$", i)})
			p.VirtualEndpoints = []catalogue.VirtualRule{{Type: AudioInput, NameRegex: fmt.Sprintf("(?i)acme %d echo", i)}}
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
		e := endpoint{
			Source: "audio", ID: fmt.Sprintf("alsa.usb-Acme-%d", i), Type: Types[i%3], Name: fmt.Sprintf("Acme %d unit %d", model, unit),
			Bus: USB, VID: "1209", PID: fmt.Sprintf("%04x", model), Serial: fmt.Sprintf("S%d", unit), Container: fmt.Sprintf("usb:1-%d", unit),
			BusInfo: fmt.Sprintf("usb-%d", unit), Mute: False, MuteInHardware: true,
			Controls: states{"Auto Gain Control": True}, Attached: epoch,
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

// benchInputs are n endpoints with what comes beside them: each unit has a HID device that two rules have read, the last of which
// knows, and as many units as an Engine keeps leases of have one.
func benchInputs(n, products int) Inputs {
	in := Inputs{Endpoints: benchEndpoints(n, products)}
	for i := 0; i < n; i += 3 {
		e := in.Endpoints[i]
		if e.Bus != USB {
			continue
		}
		for _, rule := range []string{"sources[0]", "link_state[0]"} {
			in.Readings = append(in.Readings, Reading{
				Product: fmt.Sprintf("model-%d", i/3%products), Rule: rule, Container: e.Container, Serial: e.Serial, Origin: Origin{Via: ViaHIDReport},
			})
		}
		in.Readings[len(in.Readings)-1].Value = True
		if len(in.Pushes) < 256 {
			product := fmt.Sprintf("model-%d", i/3%products)
			in.Pushes = append(in.Pushes, Push{
				Product: product, Unit: product + " " + e.Container, Owner: "suite", State: flagStates{EchoCancellation: True},
			})
		}
	}
	return in
}

// BenchmarkResolveDiff is what one OS event costs: a whole resolution and the difference to
// the list before, with readings and pushes in the picture. It should grow with the endpoints and hardly with the catalogue.
func BenchmarkResolveDiff(b *testing.B) {
	for _, products := range []int{10, 100, 1000} {
		r, err := catalogue.NewResolver(benchCatalogue(products), Options{OS: Linux, AudioID: IDNative})
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("endpoints=%d/products=%d", n, products), func(b *testing.B) {
				unmuted, muted := benchInputs(n, products), benchInputs(n, products)
				muted.Endpoints[0].Mute = True
				before := r.Resolve(unmuted)
				if len(Diff(before, r.Resolve(muted))) == 0 {
					b.Fatal("a mute makes no difference")
				}
				b.ReportAllocs()
				for b.Loop() {
					after := r.Resolve(muted)
					Diff(before, after)
				}
			})
		}
	}
}

// BenchmarkReadings is what finding the units of readings costs, one for each unit of one product.
func BenchmarkReadings(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("units=%d", n), func(b *testing.B) {
			r, err := catalogue.NewResolver(benchCatalogue(1), Options{OS: Linux})
			if err != nil {
				b.Fatal(err)
			}
			var eps []Endpoint
			var readings []Reading
			for i := range n {
				at := fmt.Sprintf("usb:1-%d", i)
				eps = append(eps, endpoint{ID: at, Type: AudioInput, Bus: USB, VID: "1209", PID: "0000", Container: at, Serial: "0001"})
				readings = append(readings, Reading{Product: "model-0", Rule: "sources[0]", Container: at, Serial: "0001", Value: True})
			}
			g := r.Group(Inputs{Endpoints: eps})
			b.ReportAllocs()
			for b.Loop() {
				g.Reassign(readings)
			}
		})
	}
}
