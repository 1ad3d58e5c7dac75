package devices

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"sidetone/internal/health"
)

// Type is what an endpoint does, in the protocol's words.
type Type string

// The three types of endpoint: capture, render and camera.
const (
	AudioInput  Type = "audioinput"
	AudioOutput Type = "audiooutput"
	VideoInput  Type = "videoinput"
)

// Types lists every type.
var Types = []Type{AudioInput, AudioOutput, VideoInput}

// Enum lists the names that a file may use.
func (Type) Enum() []string { return Names(Types) }

// Bus is how an endpoint's device is attached.
type Bus string

// The buses that are distinguished. The empty Bus is unknown.
const (
	USB       Bus = "usb"
	Bluetooth Bus = "bluetooth"
	PCI       Bus = "pci"
	Virtual   Bus = "virtual"
)

// Enum lists the names that a file may use.
func (Bus) Enum() []string { return Names([]Bus{USB, Bluetooth, PCI, Virtual}) }

// Endpoint is what the OS says about one audio input, audio output or camera. Source, Type
// and ID together identify it. Its JSON and YAML form is also that of the file source.
type Endpoint struct {
	Source string `json:"source,omitempty" yaml:"source,omitempty"` // name of the platform source that listed it
	ID     string `json:"id" yaml:"id"`                             // the OS's own id: a PulseAudio name, /dev/videoN, an endpoint id
	Type   Type   `json:"type" yaml:"type"`
	Name   string `json:"name,omitempty" yaml:"name,omitempty"` // what the OS displays

	Bus       Bus    `json:"bus,omitempty" yaml:"bus,omitempty"`
	VID       string `json:"vid,omitempty" yaml:"vid,omitempty"`             // vendor id, 4 lower-case hex digits
	PID       string `json:"pid,omitempty" yaml:"pid,omitempty"`             // product id, 4 lower-case hex digits
	Serial    string `json:"serial,omitempty" yaml:"serial,omitempty"`       // the device's own serial number
	Container string `json:"container,omitempty" yaml:"container,omitempty"` // same value = same physical device (USB device, ContainerId)
	BusInfo   string `json:"bus_info,omitempty" yaml:"bus_info,omitempty"`   // cameras on Linux: V4L2 bus_info

	Virtual bool   `json:"virtual,omitempty" yaml:"virtual,omitempty"` // no hardware of its own: filter, loopback, remote desktop
	Master  string `json:"master,omitempty" yaml:"master,omitempty"`   // virtual only: ID of the endpoint whose sound it carries
	Default bool   `json:"default,omitempty" yaml:"default,omitempty"` // the OS's default of its type
	Plugged Tri    `json:"plugged,omitzero" yaml:"plugged,omitempty"`  // false: the jack behind it is empty

	Mute Tri `json:"mute,omitzero" yaml:"mute,omitempty"` // the OS's endpoint mute
	// MuteInHardware: the OS says that this mute is a switch in the device.
	MuteInHardware bool `json:"mute_in_hardware,omitempty" yaml:"mute_in_hardware,omitempty"`

	Effects  map[Field]Tri     `json:"effects,omitempty" yaml:"effects,omitempty"`   // processing that the OS says is active on this endpoint
	Mixer    string            `json:"mixer,omitempty" yaml:"mixer,omitempty"`       // Linux: the ALSA control device of Controls, "controlC1"
	Controls map[string]Tri    `json:"controls,omitempty" yaml:"controls,omitempty"` // on/off controls of the device's mixer by name
	Settings map[string]string `json:"settings,omitempty" yaml:"settings,omitempty"` // its other controls: the chosen item, or the number

	SeenBy   []string             `json:"seen_by,omitempty" yaml:"seen_by,omitempty"`  // the enumerators that list it
	Attached time.Time            `json:"attached,omitzero" yaml:"attached,omitempty"` // when it was first seen in this presence
	Changed  map[string]time.Time `json:"changed,omitempty" yaml:"changed,omitempty"`  // when each fact took its present value, by fact name
	Leaving  bool                 `json:"-" yaml:"-"`                                  // it is gone, and still reported for the removal grace
	Stale    bool                 `json:"stale,omitempty" yaml:"stale,omitempty"`      // the last good answer of a source that now fails
}

// Key identifies an endpoint among all inputs.
type Key struct {
	Source string `json:"source"`
	Type   Type   `json:"type"`
	ID     string `json:"id"`
}

// Key returns e's identity.
func (e Endpoint) Key() Key { return Key{e.Source, e.Type, e.ID} }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
}

// The fact names used in Endpoint.Changed. Effects, Controls and Settings append their own name.
const (
	factMute    = "mute"
	factEffect  = "effect:"
	factControl = "control:"
	factSetting = "setting:"
)

// Observation is one full reading of a source, or its failure. When Err is set the source's
// endpoints and hardware are unknown, not absent, and ignored.
type Observation struct {
	Source    string             `json:"source"`
	Endpoints []Endpoint         `json:"endpoints,omitempty"`
	Hardware  []Hardware         `json:"hardware,omitempty"` // the devices that are plugged in, as far as the source knows them
	Notes     []health.Condition `json:"-"`                  // what the source reports beside its endpoints; in JSON "notes", as text
	Err       error              `json:"-"`                  // in JSON "error", as text, and without endpoints
	At        time.Time          `json:"at,omitzero"`        // when the OS event behind this reading arrived

	Version string `json:"-"` // the program that the source reads from, and its version; "": none, or unknown
}

type observationFields Observation // without methods

// recordedObservation is the JSON of an Observation.
type recordedObservation struct {
	observationFields
	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"`
}

// MarshalJSON writes the observation for a recording.
func (o Observation) MarshalJSON() ([]byte, error) {
	r := recordedObservation{observationFields: observationFields(o), Notes: health.English.Phrases(o.Notes)}
	if o.Err != nil {
		r.Endpoints, r.Hardware, r.Error = nil, nil, o.Err.Error()
	}
	return json.Marshal(r)
}

// UnmarshalJSON reads what MarshalJSON writes, and refuses unknown keys.
func (o *Observation) UnmarshalJSON(data []byte) error {
	var r recordedObservation
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&r)
	*o = Observation(r.observationFields)
	o.Notes = health.Explained(r.Notes...)
	if r.Error != "" {
		o.Err = errors.New(r.Error)
	}
	return err
}

// Carry returns next with the times of prev: an endpoint that was there before keeps its time of
// attachment, an unchanged fact its time of change. All else gets the time at, unless it has one. An
// endpoint that is now known to be other hardware counts as new. The result is sorted by key, without
// duplicates.
func Carry(prev, next []Endpoint, at time.Time) []Endpoint {
	before := make(map[Key]*Endpoint, len(prev))
	for i := range prev {
		before[prev[i].Key()] = &prev[i]
	}
	out := make([]Endpoint, 0, len(next))
	for _, e := range sorted(next) {
		if last := len(out) - 1; last >= 0 && out[last].Key() == e.Key() {
			continue
		}
		out = append(out, *e)
		out[len(out)-1].carry(before[e.Key()], at)
	}
	return out
}

// carry takes over the times of old, the same endpoint as it was before; nil: it was not there. Its maps are of whoever listed e.
func (e *Endpoint) carry(old *Endpoint, at time.Time) {
	e.Leaving = false
	if old == nil || differ(old.Container, e.Container) || differ(old.Serial, e.Serial) {
		old = &Endpoint{}
	}
	switch {
	case !old.Attached.IsZero():
		e.Attached = old.Attached
	case e.Attached.IsZero():
		e.Attached = at
	}
	listed := e.Changed
	e.Changed = make(map[string]time.Time, 1+len(e.Effects)+len(e.Controls)+len(e.Settings))
	carry := func(fact string, same, known bool) {
		switch since := old.Changed[fact]; {
		case same && !since.IsZero():
			e.Changed[fact] = since
		case known:
			e.Changed[fact] = cmp.Or(listed[fact], at)
		}
	}
	carry(factMute, e.Mute == old.Mute, e.Mute.Known())
	for name, v := range e.Effects {
		was, there := old.Effects[name]
		carry(factEffect+string(name), there && v == was, v.Known())
	}
	for name, v := range e.Controls {
		was, there := old.Controls[name]
		carry(factControl+name, there && v == was, v.Known())
	}
	for name, v := range e.Settings {
		was, there := old.Settings[name]
		carry(factSetting+name, there && v == was, true)
	}
}

// Contains reports whether an endpoint with this key is in list, which is sorted by key.
func Contains(list []Endpoint, k Key) bool {
	_, found := slices.BinarySearchFunc(list, k, func(e Endpoint, k Key) int { return compareKeys(e.Key(), k) })
	return found
}

// differ reports whether both are known and different.
func differ(a, b string) bool { return a != "" && b != "" && a != b }
