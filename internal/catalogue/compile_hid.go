package catalogue

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// Defaults of rules (HID Usage Tables, section 14, and HID++).
const (
	pageTelephony  = "0b"
	usagePhoneMute = "2f"
	hidppItself    = 0xff // the addressed device, not one behind it
	centurionOnly  = 0x23 // the address in the reports of the one device whose are known
	defaultTimeout = 1000 // milliseconds, for each answer
)

// HIDRules compiles the HID sources of a catalogue that passes Check.
func HIDRules(cat *Catalogue, os devices.OS) *hid.Rules {
	var list []hid.Rule
	links := make(map[string][]devices.Source)
	for _, p := range cat.Products {
		base := hid.Rule{Product: p.ID, BySerial: p.GroupBy == devices.GroupSerial, Models: p.models(os)}
		if len(base.Models) == 0 {
			continue
		}
		links[p.ID] = p.linkState(os)
		rules := slices.Concat(p.linkRules(), p.flagRules())
		for i, r := range rules {
			if !forOS(r.OS, os) {
				continue
			}
			rule := base
			rule.Path, rule.Link, rule.Firmware = r.path, r.Field == linkField, r.Firmware.compile()
			rule.Urgent = r.Field == devices.HardwareMute
			var levels []string
			for _, e := range rules[:i] {
				if forOS(e.OS, os) && e.Field == r.Field && e.reportsChanges() && e.Pick.covers(r.Pick) {
					levels = append(levels, e.path)
				}
			}
			list = append(list, r.hidRules(rule, r.Field, levels)...)
		}
	}
	return hid.NewRules(list, links)
}

// models returns the hardware ids of the product on an OS.
func (p Product) models(os devices.OS) (out []hid.Model) {
	for _, l := range p.Links {
		if !forOS(l.OS, os) {
			continue
		}
		var name *regexp.Regexp
		if l.NameRegex != "" {
			name, _ = regexp.Compile(l.NameRegex) // which Check has accepted
		}
		for _, pid := range l.PIDs {
			out = append(out, hid.Model{
				Bus: l.Kind.bus(), VID: strings.ToLower(l.VID), PID: strings.ToLower(pid), Name: name, Wireless: l.Kind.isWireless(),
			})
		}
	}
	return out
}

// hidRules compiles the source with its anchors, or the terms of its derive, as far as they read HID devices. levels are
// the paths of earlier sources that report each change.
func (k SourceKind) hidRules(rule hid.Rule, f devices.Field, levels []string) (out []hid.Rule) {
	if k.Derive != nil {
		path := rule.Path
		for at, term := range k.Derive.Terms(path) {
			rule.Path = at
			out = append(out, term.hidRules(rule, f, levels)...)
		}
		return out
	}
	var anchor *Anchor
	mute := f == devices.HardwareMute
	base := rule
	rule.Via, rule.ReportsChanges = k.Via(), k.reportsChanges()
	switch {
	case k.HIDUsage != nil && k.HIDUsage.Read != "":
		rule.Interface, rule.Query = k.HIDUsage.Interface, k.HIDUsage.query(mute)
	case k.HIDUsage != nil:
		u := k.HIDUsage
		rule.Interface, anchor, rule.Debounce, rule.Usage = u.Interface, u.Anchor, milliseconds(u.DebounceMS), u.compile()
	case k.HIDReport != nil:
		r := k.HIDReport
		rule.MaxAge = milliseconds(r.MaxAgeMS)
		rule.Interface, anchor, rule.Debounce, rule.Report = r.Interface, r.Anchor, milliseconds(r.DebounceMS), r.compile(mute)
	case k.HIDQuery != nil:
		rule.Interface, rule.Query = k.HIDQuery.Interface, k.HIDQuery.compile(mute)
	case k.HIDPP != nil:
		rule.Interface, rule.HIDPP = k.HIDPP.Interface, k.HIDPP.compile(mute)
	default:
		return nil
	}
	if k.neverRefreshed() && rule.AnchorOf == "" {
		rule.DependsOn = levels
	}
	if anchor == nil {
		return []hid.Rule{rule}
	}
	rule.Anchor = &hid.Anchor{Start: anchor.Start, LinkUp: anchor.LinkUp}
	for _, source := range []SourceKind{{HIDReport: anchor.HIDReport}, {HIDQuery: anchor.HIDQuery}} {
		base.AnchorOf, base.Models = rule.Path, nil
		base.Path = rule.Path + "." + rule.Via + ".anchor." + source.Via()
		rule.Anchor.Sources = append(rule.Anchor.Sources, source.hidRules(base, f, nil)...)
	}
	return []hid.Rule{rule}
}

func (u *HIDUsage) compile() *hid.Usage {
	forms := map[HIDKind]descriptor.Control{HIDLevel: descriptor.Level, HIDToggle: descriptor.Momentary, HIDButtons: descriptor.Buttons}
	return &hid.Usage{
		Page: hex16(cmp.Or(u.Page, pageTelephony)), Usage: hex16(cmp.Or(u.Usage, usagePhoneMute)),
		Form: forms[u.Kind], Invert: u.Invert,
	}
}

// query compiles a control that is read on request.
func (u *HIDUsage) query(mute bool) *hid.Query {
	field := &hid.Field{
		Kind: descriptor.Kind(u.Read), Page: hex16(cmp.Or(u.Page, pageTelephony)), Usage: hex16(cmp.Or(u.Usage, usagePhoneMute)),
		Means: ByteValue{On: u.On, Off: u.Off, Invert: u.Invert}.Compile(mute).Means,
	}
	for _, text := range u.AskOnUsage {
		if m := usageText.FindStringSubmatch(text); m != nil {
			field.AskOn = append(field.AskOn, hid.UsageOf{Page: hex16(cmp.Or(m[1], u.Page, pageTelephony)), Usage: hex16(m[2])})
		}
	}
	return &hid.Query{
		Field: field, Steps: []hid.Step{{Pause: milliseconds(u.DelayMS)}},
		Poll: milliseconds(u.PollMS), Timeout: milliseconds(cmp.Or(u.TimeoutMS, defaultTimeout)),
	}
}

// Fields returns the input fields of a device that belong to the control.
func (u *HIDUsage) Fields(desc *descriptor.Descriptor) []descriptor.Field {
	c := u.compile()
	return desc.Find(descriptor.Input, c.Page, c.Usage)
}

func (r *HIDReport) compile(mute bool) *hid.InputReport {
	out := &hid.InputReport{When: compileTests(r.When), Toggle: r.Kind == HIDToggle}
	if r.ReportID != nil {
		out.ID = new(byte(*r.ReportID))
	}
	if r.Value != nil {
		out.Value = new(r.Value.Compile(mute && !out.Toggle))
	}
	return out
}

func (q *HIDQuery) compile(mute bool) *hid.Query {
	return &hid.Query{
		Steps: q.steps(), Value: q.Value.Compile(mute), At: q.At, AskOn: compileTests(q.AskOn),
		Poll: milliseconds(q.PollMS), Timeout: milliseconds(cmp.Or(q.TimeoutMS, defaultTimeout)),
	}
}

// steps returns the requests of the query, one after the other; none if it is faulty.
func (q *HIDQuery) steps() (out []hid.Step) {
	for _, s := range q.Steps {
		out = append(out, s.compile())
	}
	last := hid.Step{Expect: compileTests(q.Expect), RetryOn: compileTests(q.RetryOn), Pause: milliseconds(q.DelayMS)}
	switch {
	case len(q.Output) > 0:
		for _, report := range q.Output {
			out = append(out, hid.Step{Output: report, Arrives: true})
		}
		out[len(out)-1].Expect = last.Expect
		return out
	case len(q.Feature) > 0:
		last.Read, last.ID = descriptor.Feature, q.Feature[0]
		switch set := len(q.Feature) > 1; {
		case set && last.Pause > 0:
			out = append(out, hid.Step{Set: q.Feature})
		case set:
			last.Set = q.Feature
		}
	case len(q.Input) > 0:
		last.Read, last.ID = descriptor.Input, q.Input[0]
	case len(q.LastOutput) > 0:
		last.Read, last.ID = descriptor.Output, q.LastOutput[0]
	default:
		return out
	}
	return append(out, last)
}

func (s HIDStep) compile() hid.Step {
	out := hid.Step{
		Output: s.Output, Set: s.SetFeature, Arrives: s.sends() && len(s.Expect) > 0,
		Expect: compileTests(s.Expect), RetryOn: compileTests(s.RetryOn), Pause: milliseconds(s.PauseMS),
	}
	switch {
	case len(s.ReadFeature) > 0:
		out.Read, out.ID = descriptor.Feature, s.ReadFeature[0]
	case len(s.ReadInput) > 0:
		out.Read, out.ID = descriptor.Input, s.ReadInput[0]
	}
	return out
}

func (s HIDStep) sends() bool { return len(s.Output) > 0 || len(s.SetFeature) > 0 }

func (p *HIDPP) compile(mute bool) *hid.PPFeature {
	out := &hid.PPFeature{
		Device: hidppItself, Feature: hex16(p.Feature), Read: p.Read, Events: p.Event,
		AskOn: compileTests(p.AskOn), Value: p.Value.Compile(mute), Timeout: milliseconds(cmp.Or(p.TimeoutMS, defaultTimeout)),
	}
	if p.Framing == HIDPPCenturion {
		out.Centurion, out.Device = true, centurionOnly
	}
	if p.DeviceIndex != nil {
		out.Device = byte(*p.DeviceIndex)
	}
	return out
}

func compileTests(tests []ByteTest) (out []hid.Test) {
	for _, t := range tests {
		test := hid.Test{Byte: t.Byte}
		for b := range test.Fits {
			test.Fits[b] = t.fits(masked(b, t.Mask))
		}
		out = append(out, test)
	}
	return out
}

// fits reports whether a masked byte meets the condition.
func (t ByteTest) fits(b Byte) bool {
	switch {
	case t.Eq != nil:
		return b == *t.Eq
	case t.In != nil:
		return slices.Contains(t.In, b)
	default:
		return (t.Min == nil || b >= *t.Min) && (t.Max == nil || b <= *t.Max)
	}
}

// Compile returns the meaning of each value of the byte. If strict, values that the rule does not mention are unknown.
func (v ByteValue) Compile(strict bool) hid.Value {
	out := hid.Value{Byte: v.Byte, Valid: compileTests(v.Valid)}
	for b := range out.Means {
		means := v.of(masked(b, v.Mask), strict)
		if v.Invert {
			means = means.Not()
		}
		out.Means[b] = means
	}
	return out
}

// of returns what a masked byte means, before inversion.
func (v ByteValue) of(b Byte, strict bool) devices.Tri {
	switch {
	case slices.Contains(v.On, b):
		return devices.True
	case slices.Contains(v.Off, b):
		return devices.False
	case v.On != nil && v.Off != nil:
		return devices.Unknown
	case strict && !v.isOneBit() && (v.On != nil || v.Off != nil || b > 1):
		return devices.Unknown
	case v.On != nil:
		return devices.False
	case v.Off != nil:
		return devices.True
	default:
		return devices.Of(b != 0)
	}
}

func masked(b int, mask *Byte) Byte {
	if mask == nil {
		return Byte(b)
	}
	return Byte(b) & *mask
}

// usageText matches one of Usages: its page, which may be empty, and itself.
var usageText = regexp.MustCompile(`^(?:([0-9a-fA-F]{1,4}):)?([0-9a-fA-F]{1,4})$`)

// hex16 parses hex digits that Check has accepted.
func hex16(digits string) uint16 {
	n, _ := strconv.ParseUint(digits, 16, 16)
	return uint16(n)
}

func milliseconds(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
