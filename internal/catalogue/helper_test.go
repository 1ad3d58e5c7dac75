package catalogue

import (
	"sidetone/internal/devices"
)

// catalogueOf makes a catalogue of products, filling in what does not matter.
func catalogueOf(products ...Product) *Catalogue {
	for i := range products {
		p := &products[i]
		if p.Name == "" {
			p.Name = "Model " + p.ID
		}
		p.URL = "https://acme.example/" + p.ID
		if p.Priority == 0 {
			p.Priority = 1
		}
		if p.Endpoints == nil {
			p.Endpoints = []EndpointRule{{Type: devices.AudioInput}, {Type: devices.AudioOutput}, {Type: devices.VideoInput}}
		}
	}
	return &Catalogue{
		Schema:   SchemaVersion,
		Vendor:   Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678"},
		Products: products,
	}
}

func usbLink(pids ...string) Link { return Link{Kind: LinkUSB, VID: "1209", PIDs: pids} }

func or(terms ...SourceKind) SourceKind { return SourceKind{Derive: &Derive{Or: terms}} }

// muteOf is a source of hardware_mute.
func muteOf(k SourceKind) SourceRule { return SourceRule{Field: devices.HardwareMute, SourceKind: k} }
