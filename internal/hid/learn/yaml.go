package learn

import (
	"fmt"
	"strings"

	"sidetone/internal/catalogue"
)

// YAML is the proposal as an item of a product's sources, each line indented as in the example
// catalogue.
func (p Proposal) YAML() string {
	var what string
	if u := p.Rule.HIDUsage; u != nil {
		what = "hid_usage: " + usageYAML(*u)
	} else {
		what = "hid_report: " + reportYAML(*p.Rule.HIDReport)
	}
	return fmt.Sprintf("      - field: %s\n        %s\n", p.Rule.Field, what)
}

// LinkYAML is the link that the proposal's product needs.
func (p Proposal) LinkYAML() string {
	return fmt.Sprintf("{kind: %s, vid: %q, pids: [%q]}", linkKind(p.Device), p.Device.VID, p.Device.PID)
}

// flow writes a mapping on one line.
type flow []string

func (f *flow) add(key, format string, args ...any) {
	*f = append(*f, key+": "+fmt.Sprintf(format, args...))
}

func (f *flow) byte(key string, b *catalogue.Byte) {
	if b != nil {
		f.add(key, "0x%02x", int(*b))
	}
}

func (f *flow) bytes(key string, list []catalogue.Byte) {
	if list != nil {
		var words []string
		for _, b := range list {
			words = append(words, fmt.Sprintf("0x%02x", int(b)))
		}
		f.add(key, "[%s]", strings.Join(words, ", "))
	}
}

func (f *flow) common(n *int, kind catalogue.HIDKind) {
	if n != nil {
		f.add("interface", "%d", *n)
	}
	if kind != "" {
		f.add("kind", "%s", kind)
	}
}

func (f flow) String() string { return "{" + strings.Join(f, ", ") + "}" }

func usageYAML(u catalogue.HIDUsage) string {
	var f flow
	f.common(u.Interface, u.Kind)
	if u.Page != "" {
		f.add("page", "%q", u.Page)
		f.add("usage", "%q", u.Usage)
	}
	if u.Invert {
		f.add("invert", "true")
	}
	if u.Anchor != nil {
		f.add("anchor", "%s", anchorYAML(*u.Anchor))
	}
	return f.String()
}

func reportYAML(r catalogue.HIDReport) string {
	var f flow
	f.common(r.Interface, r.Kind)
	f.byte("report_id", r.ReportID)
	if r.When != nil {
		var tests []string
		for _, t := range r.When {
			var test flow
			test.add("byte", "%d", t.Byte)
			test.byte("eq", t.Eq)
			tests = append(tests, test.String())
		}
		f.add("when", "[%s]", strings.Join(tests, ", "))
	}
	if v := r.Value; v != nil {
		var value flow
		value.add("byte", "%d", v.Byte)
		value.byte("mask", v.Mask)
		value.bytes("on", v.On)
		value.bytes("off", v.Off)
		if v.Invert {
			value.add("invert", "true")
		}
		f.add("value", "%s", value)
	}
	if r.Anchor != nil {
		f.add("anchor", "%s", anchorYAML(*r.Anchor))
	}
	return f.String()
}

func anchorYAML(a catalogue.Anchor) string {
	var f flow
	if a.Start != nil {
		f.add("start", "%t", *a.Start)
	}
	if a.HIDReport != nil {
		f.add("hid_report", "%s", reportYAML(*a.HIDReport))
	}
	return f.String()
}
