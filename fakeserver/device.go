package fakeserver

import "slices"

// The three types of a device.
const (
	AudioInput  = "audioinput"
	AudioOutput = "audiooutput"
	VideoInput  = "videoinput"
)

// A Named is the vendor or the model of a device. An empty field was absent
// (the client rejects an empty one).
type Named struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
	// Extra are the members that nobody knows, as a JSON object, which the client
	// stores with the others; "" for none (rule R35).
	Extra string `json:"extra,omitempty"`
}

// A Device is one certified device object as it was received. The four flags
// are nil when absent.
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

// A flag is one of the optional booleans of a device.
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

// asSeenByClient is what the client makes of a device of the list: related ids of
// other lists and flags that only an audioinput has are ignored (rules R33, R36).
func (d Device) asSeenByClient(list []Device) Device {
	d.Related = slices.DeleteFunc(slices.Clone(d.Related), func(id string) bool {
		return !slices.ContainsFunc(list, func(other Device) bool { return other.ID == id })
	})
	if d.Type != AudioInput {
		for _, f := range flags {
			*f.field(&d) = nil
		}
	}
	return d
}

// unmuted returns the list as the client finds it when it starts: every
// reported hardware_mute is false (rule R51). The list it is given is left alone, since
// recorded payloads share it.
func unmuted(list []Device) []Device {
	list = slices.Clone(list)
	for i := range list {
		if list[i].HardwareMute != nil {
			list[i].HardwareMute = new(bool)
		}
	}
	return list
}
