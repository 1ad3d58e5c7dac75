package devices_test

import (
	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"
)

// Short names for what the tables of these tests are made of.
type (
	endpoint  = Endpoint
	endpoints = []Endpoint
	readings  = []Reading
	product   = catalogue.Product
	links     = []catalogue.Link
	rule      = catalogue.SourceRule
	rules     = []catalogue.SourceRule
	kind      = catalogue.SourceKind
	kinds     = []catalogue.SourceKind
	link      = catalogue.Link
	states    = map[string]Tri

	flagStates = map[Field]Tri
)

// sharedMute is a mute that the button and the OS share.
var sharedMute = kind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}

func mutedInHardware(e *endpoint)   { e.Mute, e.MuteInHardware = True, true }
func unmutedInHardware(e *endpoint) { e.Mute, e.MuteInHardware = False, true }

func softMute(v Tri) func(*endpoint) { return func(e *endpoint) { e.Mute = v } }

func control(name string, v Tri) func(*endpoint) {
	return func(e *endpoint) { e.Controls = states{name: v} }
}

func asItIs(*endpoint) {}
