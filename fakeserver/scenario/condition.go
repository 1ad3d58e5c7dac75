package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sidetone/fakeserver"
)

// A condition says what the last reported list has to be like. Empty fields match anything.
type condition struct {
	Device               selector  `yaml:"device,omitempty"`
	HardwareMute         flagValue `yaml:"hardware_mute,omitempty"`
	EchoCancellation     flagValue `yaml:"echo_cancellation,omitempty"`
	NoiseSuppression     flagValue `yaml:"noise_suppression,omitempty"`
	AutomaticGainControl flagValue `yaml:"automatic_gain_control,omitempty"`
	Present              *bool     `yaml:"present,omitempty"`
	Devices              *span     `yaml:"devices,omitempty"`
	Transport            transport `yaml:"transport,omitempty"`
}

// A selector selects devices of a list. Empty fields match anything.
type selector struct {
	ID     string     `yaml:"id,omitempty"`
	Model  string     `yaml:"model,omitempty"`
	Vendor string     `yaml:"vendor,omitempty"`
	Type   deviceType `yaml:"type,omitempty"`
}

// A flag is one of the optional booleans of a device, with its expected value.
type flag struct {
	name string
	want flagValue
	of   func(fakeserver.Device) *bool
}

// flags are those that are looked at.
func (c condition) flags() []flag {
	all := []flag{
		{"hardware_mute", c.HardwareMute, func(d fakeserver.Device) *bool { return d.HardwareMute }},
		{"echo_cancellation", c.EchoCancellation, func(d fakeserver.Device) *bool { return d.EchoCancellation }},
		{"noise_suppression", c.NoiseSuppression, func(d fakeserver.Device) *bool { return d.NoiseSuppression }},
		{"automatic_gain_control", c.AutomaticGainControl, func(d fakeserver.Device) *bool { return d.AutomaticGainControl }},
	}
	return slices.DeleteFunc(all, func(f flag) bool { return f.want == "" })
}

func (f flag) value(d fakeserver.Device) flagValue {
	if b := f.of(d); b != nil {
		return flagValue(strconv.FormatBool(*b))
	}
	return "absent"
}

func (c condition) empty() bool { return c == condition{} }

// holds reports whether a list meets the condition. None does before the first report, when p
// is nil.
func (c condition) holds(p *fakeserver.Payload) bool {
	if p == nil || c.Transport != "" && string(p.Transport) != string(c.Transport) {
		return false
	}
	found := c.find(p.Devices)
	if c.Devices != nil && !c.Devices.contains(len(found)) {
		return false
	}
	if c.Present != nil && *c.Present != (len(found) > 0) {
		return false
	}
	if c.Device != (selector{}) && c.Present == nil && c.Devices == nil && len(found) == 0 {
		return false
	}
	return c.flagsHold(p.Devices)
}

// flagsHold reports whether there are devices to look at and all of them have the expected
// flags.
func (c condition) flagsHold(list []fakeserver.Device) bool {
	if len(c.flags()) == 0 {
		return true
	}
	flagged := c.flagged(list)
	for _, d := range flagged {
		for _, f := range c.flags() {
			if f.value(d) != f.want {
				return false
			}
		}
	}
	return len(flagged) > 0
}

func (c condition) find(list []fakeserver.Device) []fakeserver.Device {
	return slices.DeleteFunc(slices.Clone(list), func(d fakeserver.Device) bool { return !c.Device.fits(d) })
}

// flagged are the devices whose flags are looked at: only an audioinput has any (rule R36), so
// others count only if the scenario asks for their type.
func (c condition) flagged(list []fakeserver.Device) []fakeserver.Device {
	found := c.find(list)
	if c.Device.Type != "" {
		return found
	}
	return slices.DeleteFunc(found, func(d fakeserver.Device) bool { return d.Type != fakeserver.AudioInput })
}

func (s selector) fits(d fakeserver.Device) bool {
	return (s.ID == "" || s.ID == d.ID) &&
		(s.Model == "" || s.Model == d.Model.Name) &&
		(s.Vendor == "" || s.Vendor == d.Vendor.Name) &&
		(s.Type == "" || string(s.Type) == d.Type)
}

func (s span) contains(n int) bool { return n >= s.min && (s.max < 0 || n <= s.max) }

func (c condition) String() string {
	var parts []string
	of := c.Device.String()
	for _, f := range c.flags() {
		parts = append(parts, f.name+" "+string(f.want))
	}
	if n := len(parts); n > 0 && of != "" {
		parts[n-1] += " of " + of
	}
	switch {
	case c.Devices != nil:
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%v %s", plural(c.Devices, "device"), of)))
	case c.Present != nil && !*c.Present:
		parts = append(parts, "no "+of)
	case of != "" && len(c.flags()) == 0 || c.Present != nil:
		parts = append(parts, of+" present")
	}
	if c.Transport != "" {
		parts = append(parts, "by "+string(c.Transport))
	}
	return strings.Join(parts, ", ")
}

func (s selector) String() string {
	var parts []string
	for _, part := range [][2]string{{"type", string(s.Type)}, {"vendor", s.Vendor}, {"model", s.Model}, {"id", s.ID}} {
		if part[1] != "" {
			parts = append(parts, fmt.Sprintf("%s %q", part[0], part[1]))
		}
	}
	return strings.Join(parts, " ")
}

func (s span) String() string {
	switch {
	case s.max < 0:
		return fmt.Sprintf("at least %d", s.min)
	case s.min == s.max:
		return fmt.Sprint(s.min)
	case s.min == 0:
		return fmt.Sprintf("at most %d", s.max)
	}
	return fmt.Sprintf("%d to %d", s.min, s.max)
}

// seen describes a list in the terms of the condition.
func (c condition) seen(p *fakeserver.Payload) string {
	if p == nil {
		return "nothing was reported"
	}
	var parts []string
	if len(c.flags()) > 0 {
		parts = append(parts, c.seenFlags(p.Devices))
	}
	found := c.find(p.Devices)
	if c.Devices != nil || c.Present != nil || len(c.flags()) == 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %v", plural(len(found), "device"), c.Device)))
	}
	if c.Transport != "" {
		parts = append(parts, "by "+string(p.Transport))
	}
	return strings.Join(parts, ", ")
}

func (c condition) seenFlags(list []fakeserver.Device) string {
	flagged := c.flagged(list)
	if len(flagged) == 0 {
		return fmt.Sprintf("no such device among %d", len(list))
	}
	var parts []string
	for _, d := range flagged {
		for _, f := range c.flags() {
			parts = append(parts, fmt.Sprintf("%s %s of %q", f.name, f.value(d), d.ID))
		}
	}
	return strings.Join(parts, ", ")
}
