package scenario

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/fakeserver"
)

// A condition is what the list that a client was told last has to be like. What is not set
// is not looked at.
type condition struct {
	device    selector
	flags     []flag
	present   *bool
	devices   *span
	transport fakeserver.Transport
}

// A selector picks devices of a list. An empty field fits all.
type selector struct{ id, model, vendor, kind string }

// A flag is the wanted value of one of the optional booleans: true, false or absent.
type flag struct{ name, want string }

// A span is a number with bounds. max is -1 when there is no upper one.
type span struct{ min, max int }

var flagFields = map[string]func(fakeserver.Device) *bool{
	"hardware_mute":          func(d fakeserver.Device) *bool { return d.HardwareMute },
	"echo_cancellation":      func(d fakeserver.Device) *bool { return d.EchoCancellation },
	"noise_suppression":      func(d fakeserver.Device) *bool { return d.NoiseSuppression },
	"automatic_gain_control": func(d fakeserver.Device) *bool { return d.AutomaticGainControl },
}

var flagNames = []string{"hardware_mute", "echo_cancellation", "noise_suppression", "automatic_gain_control"}

// value is the flag as a scenario writes it.
func (f flag) value(d fakeserver.Device) string {
	if b := flagFields[f.name](d); b != nil {
		return fmt.Sprint(*b)
	}
	return "absent"
}

func (c condition) empty() bool {
	return c.device == selector{} && len(c.flags) == 0 && c.present == nil && c.devices == nil && c.transport == ""
}

// holds reports whether a list is as wanted. Before the first report nothing holds: p is nil.
func (c condition) holds(p *fakeserver.Payload) bool {
	if p == nil || c.transport != "" && p.Transport != c.transport {
		return false
	}
	found := c.find(p.Devices)
	if c.devices != nil && !c.devices.contains(len(found)) {
		return false
	}
	if c.present != nil && *c.present != (len(found) > 0) {
		return false
	}
	if c.device != (selector{}) && c.present == nil && c.devices == nil && len(found) == 0 {
		return false
	}
	return c.flagsHold(p.Devices)
}

// flagsHold reports whether there is a device to look at and all of them have the flags.
func (c condition) flagsHold(list []fakeserver.Device) bool {
	if len(c.flags) == 0 {
		return true
	}
	flagged := c.flagged(list)
	for _, d := range flagged {
		for _, f := range c.flags {
			if f.value(d) != f.want {
				return false
			}
		}
	}
	return len(flagged) > 0
}

func (c condition) find(list []fakeserver.Device) []fakeserver.Device {
	var found []fakeserver.Device
	for _, d := range list {
		if c.device.fits(d) {
			found = append(found, d)
		}
	}
	return found
}

// flagged are the devices whose flags are looked at: only an audioinput has any (rule R36), so
// the others count only when the scenario asks for their type.
func (c condition) flagged(list []fakeserver.Device) []fakeserver.Device {
	found := c.find(list)
	if c.device.kind != "" {
		return found
	}
	return slices.DeleteFunc(found, func(d fakeserver.Device) bool { return d.Type != fakeserver.AudioInput })
}

func (s selector) fits(d fakeserver.Device) bool {
	return (s.id == "" || s.id == d.ID) &&
		(s.model == "" || s.model == d.Model.Name) &&
		(s.vendor == "" || s.vendor == d.Vendor.Name) &&
		(s.kind == "" || s.kind == d.Type)
}

func (s span) contains(n int) bool { return n >= s.min && (s.max < 0 || n <= s.max) }

// String is the condition in words, for reports.
func (c condition) String() string {
	var parts []string
	of := c.device.String()
	for _, f := range c.flags {
		parts = append(parts, f.name+" "+f.want)
	}
	text := strings.Join(parts, ", ")
	if text != "" && of != "" {
		text += " of " + of
	}
	parts = nil
	if text != "" {
		parts = append(parts, text)
	}
	switch {
	case c.devices != nil:
		noun := "devices"
		if *c.devices == (span{1, 1}) {
			noun = "device"
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%v %s %s", c.devices, noun, of)))
	case c.present != nil && !*c.present:
		parts = append(parts, "no "+of)
	case of != "" && len(c.flags) == 0 || c.present != nil:
		parts = append(parts, of+" present")
	}
	if c.transport != "" {
		parts = append(parts, "by "+string(c.transport))
	}
	return strings.Join(parts, ", ")
}

func (s selector) String() string {
	var parts []string
	for _, part := range [][2]string{{"type", s.kind}, {"vendor", s.vendor}, {"model", s.model}, {"id", s.id}} {
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

// seen says what a list is like in the terms of the condition.
func (c condition) seen(p *fakeserver.Payload) string {
	if p == nil {
		return "nothing was reported"
	}
	var parts []string
	if len(c.flags) > 0 {
		parts = append(parts, c.seenFlags(p.Devices))
	}
	found := c.find(p.Devices)
	if c.devices != nil || c.present != nil || len(c.flags) == 0 {
		noun := "devices"
		if len(found) == 1 {
			noun = "device"
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s %v", len(found), noun, c.device)))
	}
	if c.transport != "" {
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
		for _, f := range c.flags {
			parts = append(parts, fmt.Sprintf("%s %s of %q", f.name, f.value(d), d.ID))
		}
	}
	return strings.Join(parts, ", ")
}
