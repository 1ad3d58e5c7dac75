package learn

import (
	"fmt"
	"slices"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// control is a mute control that a descriptor may declare.
type control struct {
	page, usage string // as in a rule; empty: the default
	name        string
	doubt       string
}

// controls lists the controls to try (HID Usage Tables, sections 4 and 14). Mute of the Consumer page is
// left out, because it is the speaker's.
var controls = []control{
	{name: "Phone Mute (page 0b, usage 2f)"},
	{
		page: "01", usage: "a9", name: "System Microphone Mute (page 01, usage a9)",
		doubt: "this control asks the host to mute: make sure that the headset itself mutes its microphone, too",
	},
}

// usages finds the declared controls that explain the session, each with the first meaning that does.
func (l *analysis) usages() (out []candidate) {
	for _, d := range l.devices {
		for _, c := range controls {
			if found, ok := l.usage(*d, c); ok {
				out = append(out, found)
			}
		}
	}
	return out
}

func (l *analysis) usage(d hid.Device, c control) (candidate, bool) {
	desc := hid.Describe(d)
	if desc == nil {
		return candidate{}, false
	}
	base := catalogue.HIDUsage{Page: c.page, Usage: c.usage, Interface: l.interfaceOf(d)}
	fields := base.Fields(desc)
	if len(fields) == 0 {
		return candidate{}, false
	}
	for _, m := range meanings {
		u := base
		u.Kind, u.Invert = m.kind, m.invert
		found := newCandidate(catalogue.SourceKind{HIDUsage: &u}, d, rank{toggle: m.toggle}, l.countReports(d, fields))
		found.Why = fmt.Sprintf("%s, declared in the report descriptor, %s", c.name, m.description())
		if l.acceptOne(&found) {
			found.doubtUsage(u, c, fields)
			return found, true
		}
	}
	return candidate{}, false
}

// meaning is one interpretation of a control.
type meaning struct {
	kind   catalogue.HIDKind // empty: as declared
	invert bool
	toggle bool
}

// meanings lists what the descriptor says first, then what devices with a wrong descriptor do. Reported
// states come before counted presses.
var meanings = []meaning{
	{},
	{invert: true},
	{kind: catalogue.HIDLevel},
	{kind: catalogue.HIDLevel, invert: true},
	{kind: catalogue.HIDButtons},
	{kind: catalogue.HIDButtons, invert: true},
	{toggle: true},
	{kind: catalogue.HIDToggle, toggle: true},
}

func (m meaning) description() string {
	switch {
	case m.toggle:
		return "was pressed once whenever you pressed mute, and at no other time"
	case m.invert:
		return "says not muted whenever you said muted, and muted whenever not"
	default:
		return "says muted whenever you said muted, and not muted whenever not"
	}
}

func (c *candidate) doubtUsage(u catalogue.HIDUsage, of control, fields []descriptor.Field) {
	if of.doubt != "" {
		c.doubt("%s", of.doubt)
	}
	if u.Kind != "" {
		declared := "in none of the legal forms"
		if f := fields[0].Control(); f != "" {
			declared = "as " + string(f)
		}
		c.doubt("the report descriptor declares the control %s, but the device uses it as %s", declared, u.Kind)
	}
}

// countReports counts the reports of a device that contain one of the fields.
func (l *analysis) countReports(d hid.Device, fields []descriptor.Field) int {
	n := 0
	for _, s := range l.streams {
		for _, r := range s.reports {
			if s.device.Node == d.Node && slices.ContainsFunc(fields, func(f descriptor.Field) bool { _, ok := f.Value(r.data); return ok }) {
				n++
			}
		}
	}
	return n
}
