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

// Values of Origin.Via: a push by the vendor's software, and the catalogue's kinds of source.
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
	Shared bool   `json:"shared,omitempty"` // a mute that both the button and the OS move: either may have set it
	Stale  bool   `json:"stale,omitempty"`  // the source has failed since; this is its last good answer
}

// String is Say in English.
func (o Origin) String() string { return o.Say(texts.For(texts.English)) }

// Say returns "via" or "via (detail)", and whether it is shared or stale.
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

// Source returns the kind of the source and which one it is, by their names in the catalogue and the system.
func (o Origin) Source() string { return strings.TrimSuffix(o.Via+" "+o.Detail, " ") }

// Word returns WORD of the origin's message key, origin.WORD.
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

// ValueWord returns WORD of the message key of a value of the flag, value.WORD.
func (f Field) ValueWord(v Tri) string {
	words := [...]string{Unknown: "unknown", False: "off", True: "on"}
	if f == HardwareMute {
		words = [...]string{Unknown: "unknown", False: "unmuted", True: "muted"}
	}
	return words[v]
}

// Flag is one reported state: its value, where it came from and since when it has held.
// Since is zero when unknown.
type Flag struct {
	Value  Tri       `json:"value"`
	Origin Origin    `json:"origin"`
	Since  time.Time `json:"since,omitzero"`
}

// Names returns the values of an enumeration as plain strings.
func Names[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
