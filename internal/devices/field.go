package devices

import (
	"cmp"
	"strings"
	"time"

	"sidetone/internal/texts"
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

// String is Say in English.
func (o Origin) String() string { return o.Say(texts.For(texts.English)) }

// Say is "via" or "via (detail)", and what else is to be known of it.
func (o Origin) Say(say texts.Printer) string {
	args := texts.Args{"via": cmp.Or(o.Via, say.Text("cli.origin.none", nil)), "detail": o.Detail}
	if o.Shared {
		args["shared"] = "true"
	}
	s := say.Text("cli.origin", args)
	if o.Stale {
		s = say.Join("join.words", []string{s, say.Text("cli.origin.stale", nil)})
	}
	return s
}

// Source is the kind of the source and which one it is, by the names that catalogue and system have for them.
func (o Origin) Source() string { return strings.TrimSuffix(o.Via+" "+o.Detail, " ") }

// Word names the origin for texts (origin.WORD).
func (o Origin) Word() string {
	switch {
	case o.Via == "":
		return "none"
	case o.Shared:
		return o.Via + "_shared"
	default:
		return o.Via
	}
}

// ValueWord names a value of the flag for texts (value.WORD).
func (f Field) ValueWord(v Tri) string {
	words := [...]string{Unknown: "unknown", False: "off", True: "on"}
	if f == HardwareMute {
		words = [...]string{Unknown: "unknown", False: "unmuted", True: "muted"}
	}
	return words[v]
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
