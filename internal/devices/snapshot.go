package devices

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"sidetone/internal/health"
)

// Company is a vendor or a model as shown by the client.
type Company struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Device is one entry of SET_CERTIFIED_DEVICES. Flags are nil when unknown and always nil on
// anything but an audio input (rules R36, R37); Related is never nil (rule R32).
type Device struct {
	Type    Type     `json:"type"`
	ID      string   `json:"id"`
	Vendor  Company  `json:"vendor"`
	Model   Company  `json:"model"`
	Related []string `json:"related"`

	EchoCancellation     *bool `json:"echo_cancellation,omitempty"`
	NoiseSuppression     *bool `json:"noise_suppression,omitempty"`
	AutomaticGainControl *bool `json:"automatic_gain_control,omitempty"`
	HardwareMute         *bool `json:"hardware_mute,omitempty"`
}

// Report is one device of a snapshot, with its provenance.
type Report struct {
	Device
	Product   string         `json:"product"`         // the catalogue's product id
	Unit      string         `json:"unit"`            // same value = same physical product
	Endpoints []Key          `json:"endpoints"`       // the OS endpoints behind it; several if the client cannot tell them apart
	Flags     map[Field]Flag `json:"flags,omitempty"` // audio inputs only: every reportable flag, including unknown ones

	// OtherUnits are the further units behind it: the client cannot tell them from Unit.
	OtherUnits []string `json:"other_units,omitempty"`
	// Namesakes are other audio inputs of the machine with the same id, so that no flag can be told of this one alone.
	Namesakes []Key `json:"namesakes,omitempty"`
}

// setFlags fills the flags and their wire form.
func (r *Report) setFlags(flags map[Field]Flag) {
	r.Flags = flags
	r.HardwareMute = flags[HardwareMute].Value.Ptr()
	r.EchoCancellation = flags[EchoCancellation].Value.Ptr()
	r.NoiseSuppression = flags[NoiseSuppression].Value.Ptr()
	r.AutomaticGainControl = flags[AutomaticGainControl].Value.Ptr()
}

// Withheld is an endpoint that is not reported, and why.
type Withheld struct {
	Key
	Name    string `json:"name,omitempty"`
	Reason  string `json:"reason"`            // Why, as text; set only for output
	Unknown bool   `json:"unknown,omitempty"` // it is of no product in the catalogue
	Why     Why    `json:"why,omitzero"`
}

// Why is why an endpoint is not reported.
type Why struct {
	Code    health.Code `json:"code"`
	Product string      `json:"product,omitempty"` // its id in the catalogue
	Several int         `json:"several,omitempty"` // how many units it may belong to
	Origin  Origin      `json:"origin,omitzero"`   // of the state that is the cause
}

// Condition returns Why as a condition.
func (w Withheld) Condition() health.Condition {
	c := health.Condition{Code: w.Why.Code, Severity: health.Info, Args: make(health.Args)}
	if w.Why.Product != "" {
		c.Args["type"], c.Args["product"] = string(w.Type), w.Why.Product
	}
	if w.Why.Several > 0 {
		c.Args["products"] = strconv.Itoa(w.Why.Several)
	}
	if w.Why.Origin != (Origin{}) {
		c.Args["origin"], c.Args["source"] = w.Why.Origin.Word(), w.Why.Origin.Source()
	}
	return c
}

// Snapshot is the result of one resolution. It is immutable once published.
type Snapshot struct {
	Generation uint64     `json:"generation"`  // rises with every change
	At         time.Time  `json:"at,omitzero"` // when the OS event behind the change arrived
	Devices    []Report   `json:"devices"`     // in the order in which they are sent
	Withheld   []Withheld `json:"withheld"`
}

// Wire returns the list to send: complete, and never nil (rules R30, R38).
func (s Snapshot) Wire() []Device {
	out := make([]Device, len(s.Devices))
	for i, r := range s.Devices {
		out[i] = r.Device
		if out[i].Related == nil {
			out[i].Related = []string{}
		}
	}
	return out
}

// SameWire reports whether two lists are equal for the client.
func SameWire(a, b []Device) bool { return slices.EqualFunc(a, b, Device.equal) }

// equal does not use reflection, because it runs for each device after each event.
func (d Device) equal(o Device) bool {
	return d.Type == o.Type && d.ID == o.ID && d.Vendor == o.Vendor && d.Model == o.Model && slices.Equal(d.Related, o.Related) &&
		sameFlag(d.EchoCancellation, o.EchoCancellation) && sameFlag(d.NoiseSuppression, o.NoiseSuppression) &&
		sameFlag(d.AutomaticGainControl, o.AutomaticGainControl) && sameFlag(d.HardwareMute, o.HardwareMute)
}

func sameFlag(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

func (r Report) equal(o Report) bool {
	return r.Device.equal(o.Device) && r.Product == o.Product && r.Unit == o.Unit && slices.Equal(r.Endpoints, o.Endpoints) &&
		maps.Equal(r.Flags, o.Flags) && slices.Equal(r.OtherUnits, o.OtherUnits) && slices.Equal(r.Namesakes, o.Namesakes)
}

// Equal reports whether two snapshots are equal, including origins and reasons, but not Generation
// and At.
func (s Snapshot) Equal(o Snapshot) bool {
	return slices.EqualFunc(s.Devices, o.Devices, Report.equal) && slices.Equal(s.Withheld, o.Withheld)
}
