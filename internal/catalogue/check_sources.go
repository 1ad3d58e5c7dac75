package catalogue

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sidetone/internal/devices"
)

func (f *faults) sources(path string, p Product) {
	if len(p.Sources) > 0 && !p.reportsInput() {
		f.add(path+".sources", "flags are reported on an audioinput only", "the product reports no audioinput")
	}
	f.rules(path, p, p.flagRules())
	f.rules(path, p, p.linkRules())
	f.answers(path, p)
}

// rules checks the sources of a product's flags, or of its link_state, which are listed by precedence.
func (f *faults) rules(path string, p Product, rules []ruleAt) {
	for i, r := range rules {
		at := path + "." + r.path
		distinct(f, at+".os", r.OS, "systems")
		f.firmware(at+".firmware", r.SourceKind, r.Firmware)
		f.pick(at, p, r)
		if !f.kind(at, r.SourceKind, p.usage(r.Field, r.OS)) {
			continue
		}
		f.reachable(at, r, rules[:i])
		uncovered := systems(r.OS)
		for _, e := range rules[:i] {
			if e.Field == r.Field && e.reportsChanges() && e.Firmware.covers(r.Firmware) && e.Pick.covers(r.Pick) {
				uncovered = remaining(uncovered, e.OS)
			}
		}
		f.staleness(at, r.SourceKind, len(uncovered) == 0)
	}
}

// pick checks which inputs a source is about.
func (f *faults) pick(at string, p Product, r ruleAt) {
	switch {
	case r.Pick != nil:
		f.needRegex(at+".pick.name_regex", r.Pick.NameRegex)
	case r.Field == devices.HardwareMute && r.readsHID() && p.tellsInputsApart():
		f.warn(at, "pick, if it mutes only one of them", "the product reports several inputs, and this mute counts for all of them")
	}
}

// tellsInputsApart reports whether the product has several rules for inputs that it reports.
func (p Product) tellsInputsApart() bool {
	reported := 0
	for _, r := range p.Endpoints {
		if r.Type == devices.AudioInput && (r.Report == nil || *r.Report) {
			reported++
		}
	}
	return reported > 1
}

func (p Product) reportsInput() bool {
	return slices.ContainsFunc(p.Endpoints, func(r EndpointRule) bool {
		return r.Type == devices.AudioInput && (r.Report == nil || *r.Report)
	}) || slices.ContainsFunc(p.VirtualEndpoints, func(r VirtualRule) bool { return r.Type == devices.AudioInput })
}

// kinds returns the keys of the kinds of source that are set in k, and of all kinds.
func (k SourceKind) kinds() (set, all []string) {
	for f, v := range reflect.ValueOf(k).Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		all = append(all, key)
		if !v.IsNil() {
			set = append(set, key)
		}
	}
	return set, all
}

// Via returns the kind of source that is set in k, as in Origin.Via; "" if none is.
func (k SourceKind) Via() string {
	if set, _ := k.kinds(); len(set) > 0 {
		return set[0]
	}
	return ""
}

// linkField stands for the product's link_state, which is not a flag.
const linkField devices.Field = ""

// ruleAt is an entry of a product's sources or, with linkField, of its link_state.
type ruleAt struct {
	path string // within the product: sources[1], link_state[0]
	SourceRule
}

func (p Product) flagRules() (out []ruleAt) {
	for i, s := range p.Sources {
		out = append(out, ruleAt{fmt.Sprintf("sources[%d]", i), s})
	}
	return out
}

func (p Product) linkRules() (out []ruleAt) {
	for i, l := range p.LinkState {
		rule := SourceRule{Field: linkField, OS: l.OS, Firmware: l.Firmware, SourceKind: l.SourceKind}
		out = append(out, ruleAt{fmt.Sprintf("link_state[%d]", i), rule})
	}
	return out
}

// usage is the context in which a source is used.
type usage struct {
	field      devices.Field // or linkField
	os         []devices.OS
	hardware   bool // the product has links with vid and pids
	hid        bool // it has sources that read HID devices
	link       bool // it has link_state
	wireless   bool // all of these links are wireless
	radio      bool // a link of the product is wireless
	allowWrite bool
}

func (p Product) usage(f devices.Field, list []devices.OS) usage {
	return usage{
		field: f, os: list, allowWrite: p.AllowWrite,
		hardware: slices.ContainsFunc(p.Links, func(l Link) bool { return len(l.PIDs) > 0 }),
		link:     len(p.LinkState) > 0,
		wireless: !slices.ContainsFunc(p.Links, func(l Link) bool { return len(l.PIDs) > 0 && !l.Kind.isWireless() }),
		radio:    slices.ContainsFunc(p.Links, func(l Link) bool { return l.Kind.isWireless() }),
		hid:      slices.ContainsFunc(p.Sources, func(r SourceRule) bool { return r.readsHID() }),
	}
}

// readsHID reports whether k, or a term of its derive, reads a HID device.
func (k SourceKind) readsHID() bool {
	if k.Derive != nil {
		return slices.ContainsFunc(slices.Concat(k.Derive.Or, k.Derive.And), SourceKind.readsHID)
	}
	return k.HIDUsage != nil || k.HIDReport != nil || k.HIDQuery != nil || k.HIDPP != nil
}

// kind checks one source, and returns whether exactly one kind is set.
func (f *faults) kind(path string, k SourceKind, u usage) bool {
	kinds, all := k.kinds()
	if len(kinds) != 1 {
		f.add(path, "one of "+strings.Join(all, ", "), "want exactly one kind of source, found %d", len(kinds))
		return false
	}
	at := path + "." + kinds[0]
	if !u.hardware && k.Derive == nil && k.readsHID() {
		f.add(at, "a link of kind usb, dongle or bluetooth with them", "no link has vid and pids, so no HID device belongs to this product")
	}
	switch {
	case k.HIDUsage != nil:
		f.hidUsage(at, *k.HIDUsage, u)
	case k.HIDReport != nil:
		f.hidReport(at, *k.HIDReport, u)
	case k.HIDQuery != nil:
		f.hidQuery(at, *k.HIDQuery, u)
	case k.HIDPP != nil:
		f.hidPP(at, *k.HIDPP, u)
	case k.Derive != nil:
		f.derive(path, *k.Derive, u)
	default:
		f.osSource(path, k, u)
	}
	return true
}

// osSource checks that a source of the OS is suitable for its field.
func (f *faults) osSource(path string, k SourceKind, u usage) {
	mute := u.field == devices.HardwareMute
	switch {
	case u.field == linkField && k.ALSACtl == nil:
		f.add(path, "hid_report, hid_query, hid_usage, hidpp, alsa_ctl or derive", "this source cannot tell whether the product is connected")
	case u.field == linkField && u.hid:
		f.add(path+".alsa_ctl", "hid_report, hid_query, hid_usage or hidpp",
			"the product's HID sources would not notice a change, and would keep their earlier states")
	case k.OSEndpointMute != nil && !mute:
		f.add(path+".os_endpoint_mute", "", "os_endpoint_mute is for hardware_mute only")
	case k.OSEndpointMute != nil && !k.OSEndpointMute.SharedWithButton:
		f.addUnlessRecorded(path+".os_endpoint_mute",
			"add shared_with_button: true if its button and the OS move one mute; else take the rule out, and push the state",
			"the OS does not tell who set its mute, so this rule says nothing")
	case k.OSEffects != nil && mute:
		f.add(path+".os_effects", "", "os_effects cannot tell hardware_mute")
	case k.OSEffects != nil && k.OSEffects.Effect == devices.HardwareMute:
		f.add(path+".os_effects.effect", "", "hardware_mute is not an effect")
	case k.Const != nil && mute:
		f.add(path+".const", "", "hardware_mute is never constant")
	case k.ALSACtl != nil && strings.TrimSpace(k.ALSACtl.Name) == "":
		f.add(path+".alsa_ctl.name", "'sidetone devices' shows the names", "empty name of a control")
	case k.ALSACtl != nil && !forOS(u.os, devices.Linux):
		f.add(path+".alsa_ctl", "", "alsa_ctl works on linux only, so this rule never applies")
	case k.ALSACtl != nil && k.ALSACtl.isAmbiguousFor(u.field):
		f.addUnlessRecorded(path+".alsa_ctl",
			"add shared_with_button: true if its button and the OS move one switch; else take the rule out, and push the state",
			"sound servers and mixers set a capture switch, too, and nothing tells who did, so this rule says nothing")
	case !mute && k.ALSACtl != nil && k.ALSACtl.SharedWithButton:
		f.add(path+".alsa_ctl.shared_with_button", "", "shared_with_button is for hardware_mute only")
	case k.ALSACtl != nil:
		f.control(path+".alsa_ctl", *k.ALSACtl)
	}
}

// control checks what the values of a control mean.
func (f *faults) control(path string, c ALSACtl) {
	switch {
	case c.IsSwitch():
	case len(c.On) == 0 || len(c.Off) == 0:
		f.add(path, "name what means true (on) and what means false (off); what is in neither is unknown", "on and off go together")
	case c.Invert:
		f.add(path+".invert", "swap on and off", "invert is for switches")
	}
	for i, value := range c.Off {
		if slices.Contains(c.On, value) {
			f.add(fmt.Sprintf("%s.off[%d]", path, i), "", "%q means both on and off", value)
		}
	}
	empty := func(key string, values []string) {
		if i := slices.Index(values, ""); i >= 0 {
			f.add(fmt.Sprintf("%s.%s[%d]", path, key, i), "'sidetone devices' shows the values", "empty value of a control")
		}
	}
	empty("on", c.On)
	empty("off", c.Off)
}

func (f *faults) derive(path string, d Derive, u usage) {
	if (d.Or == nil) == (d.And == nil) {
		f.add(path+".derive", "", "want either or, or and")
		return
	}
	n := 0
	for at, k := range d.Terms(path) {
		f.kind(at, k, u)
		n++
	}
	if n < 2 {
		f.add(path+".derive", "", "want two sources or more to derive from")
	}
}

// reachable finds rules that never decide, because an earlier one always knows when they do.
func (f *faults) reachable(path string, r ruleAt, earlier []ruleAt) {
	left := systems(r.OS)
	if r.ALSACtl != nil {
		left = slices.DeleteFunc(slices.Clone(left), func(os devices.OS) bool { return os != devices.Linux })
	}
	if len(left) == 0 {
		return
	}
	for _, e := range earlier {
		if kinds, _ := e.kinds(); e.Field != r.Field || len(kinds) != 1 || !e.Pick.covers(r.Pick) {
			continue
		}
		if e.answers() && e.Firmware.overlaps(r.Firmware) && r.HIDQuery == nil && r.readsHID() && len(remaining(left, e.OS)) < len(left) {
			f.add(path, "put hid_query behind it", "%s decides before it, with a state that may be outdated", e.path)
			return
		}
		if !e.Firmware.covers(r.Firmware) || !e.covers(r.SourceKind, e.Field) {
			continue
		}
		left = remaining(left, e.OS)
		if len(left) == 0 {
			f.add(path, e.path+" decides before it", "unreachable source")
			return
		}
	}
}

// answers reports whether a rule for a flag asks the device, which reports the same by itself.
func (r ruleAt) answers() bool {
	polledLamp := r.readsLastOutput() && r.pollMS() != 0 // the device does not report it
	return (r.HIDQuery != nil || r.HIDUsage != nil && r.HIDUsage.Read != "") && !polledLamp && r.Field != linkField
}

// covers reports whether k knows a flag whenever a later source l of it does.
func (k SourceKind) covers(l SourceKind, f devices.Field) bool {
	switch {
	case f == linkField:
		return reflect.DeepEqual(k, l)
	case k.Const != nil:
		return f != devices.HardwareMute // for which const is a fault anyway
	case k.OSEndpointMute != nil && l.OSEndpointMute != nil:
		return !k.OSEndpointMute.strict() || l.OSEndpointMute.strict()
	case k.OSEffects != nil && l.OSEffects != nil:
		return k.effect(f) == l.effect(f)
	case k.ALSACtl != nil && l.ALSACtl != nil:
		return k.ALSACtl.Name == l.ALSACtl.Name && k.ALSACtl.knows(*l.ALSACtl)
	default:
		return reflect.DeepEqual(k, l)
	}
}

// knows reports whether c knows every value of the control that l knows.
func (c ALSACtl) knows(l ALSACtl) bool {
	if c.IsSwitch() || l.IsSwitch() {
		return c.IsSwitch() == l.IsSwitch()
	}
	means := slices.Concat(c.On, c.Off)
	return !slices.ContainsFunc(slices.Concat(l.On, l.Off), func(value string) bool { return !slices.Contains(means, value) })
}

func (m *OSEndpointMute) strict() bool {
	return m.RequireHardwareSupport == nil || *m.RequireHardwareSupport
}

// effect returns the effect that an os_effects source of a flag reads.
func (k SourceKind) effect(f devices.Field) devices.Field {
	return cmp.Or(k.OSEffects.Effect, f)
}
