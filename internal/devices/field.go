package devices

import (
	"strings"
	"time"
)

// Field names one of the four flags that the protocol knows for an audio input.
type Field string

// The flags, in the order in which they are shown.
const (
	HardwareMute         Field = "hardware_mute"
	EchoCancellation     Field = "echo_cancellation"
	NoiseSuppression     Field = "noise_suppression"
	AutomaticGainControl Field = "automatic_gain_control"
)

// Fields lists every flag in the order in which they are shown.
var Fields = []Field{HardwareMute, EchoCancellation, NoiseSuppression, AutomaticGainControl}

// Enum lists the names that a file may use.
func (Field) Enum() []string { return Names(Fields) }

// What a state may come from, as it appears in Origin.Via: what the vendor's software says, and the catalogue's kinds of source.
const (
	ViaPush           = "push"
	ViaOSEndpointMute = "os_endpoint_mute"
	ViaOSEffects      = "os_effects"
	ViaALSACtl        = "alsa_ctl"
	ViaHIDUsage       = "hid_usage"
	ViaHIDReport      = "hid_report"
	ViaHIDQuery       = "hid_query"
	ViaHIDPP          = "hidpp"
	ViaDerive         = "derive"
	ViaConst          = "const"
)

// Origin says where a flag's value came from.
type Origin struct {
	Via    string `json:"via,omitempty"`    // the kind of source: push, hid_report, os_endpoint_mute, const, ...
	Detail string `json:"detail,omitempty"` // which one: an endpoint id, a control's name
	Shared bool   `json:"shared,omitempty"` // a mute that the button and the OS both move: nothing tells which of them has set it
	Stale  bool   `json:"stale,omitempty"`  // the source has failed since; this is its last good answer
}

// sharedMute is how a mute has come about that button and OS share.
const sharedMute = "by the button or in the sound settings"

// String is "via" or "via (detail)".
func (o Origin) String() string {
	s := o.Via
	if s == "" {
		s = "no source"
	}
	switch {
	case o.Shared:
		s += " (" + strings.TrimPrefix(o.Detail+", set "+sharedMute, ", ") + ")"
	case o.Detail != "":
		s += " (" + o.Detail + ")"
	}
	if o.Stale {
		s += ", stale"
	}
	return s
}

// Flag is one reported state: its value, where it came from and since when it holds.
// Since is zero when unknown.
type Flag struct {
	Value  Tri       `json:"value"`
	Origin Origin    `json:"origin"`
	Since  time.Time `json:"since,omitzero"`
}

// Names are the values of an enumeration as plain strings.
func Names[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
