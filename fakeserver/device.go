package fakeserver

import "slices"

// The three types of a device.
const (
	AudioInput  = "audioinput"
	AudioOutput = "audiooutput"
	VideoInput  = "videoinput"
)

var deviceTypes = []string{AudioInput, AudioOutput, VideoInput}

// A Named is the vendor or the model of a device. An empty field was absent: the
// client rejects empty strings.
type Named struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
	// Extra holds the unknown members, which the client stores, too, as a JSON
	// object; "" if there are none (rule R35).
	Extra string `json:"extra,omitempty"`
}

// A Device is one certified device as it was received. A flag is nil if it was
// absent.
type Device struct {
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Vendor  Named    `json:"vendor"`
	Model   Named    `json:"model"`
	Related []string `json:"related"`

	EchoCancellation     *bool `json:"echo_cancellation,omitempty"`
	NoiseSuppression     *bool `json:"noise_suppression,omitempty"`
	AutomaticGainControl *bool `json:"automatic_gain_control,omitempty"`
	HardwareMute         *bool `json:"hardware_mute,omitempty"`
}

type flag struct {
	name  string
	field func(*Device) **bool
}

var flags = []flag{
	{"echo_cancellation", func(d *Device) **bool { return &d.EchoCancellation }},
	{"noise_suppression", func(d *Device) **bool { return &d.NoiseSuppression }},
	{"automatic_gain_control", func(d *Device) **bool { return &d.AutomaticGainControl }},
	{"hardware_mute", func(d *Device) **bool { return &d.HardwareMute }},
}

// seenBy is what the client makes of a device. [Desktop] ignores related ids of
// other lists, and flags unless it is an audioinput (rules R33, R36).
func (r registered) seenBy(p Profile) Device {
	d := r.device
	if !p.isDesktop() {
		return d
	}
	d.Related = slices.DeleteFunc(slices.Clone(d.Related), func(id string) bool {
		return !slices.ContainsFunc(r.list, func(other Device) bool { return other.ID == id })
	})
	if d.Type != AudioInput {
		for _, f := range flags {
			*f.field(&d) = nil
		}
	}
	return d
}
