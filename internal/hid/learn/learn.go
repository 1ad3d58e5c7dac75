// Package learn infers catalogue rules from the reports of a headset while its user presses mute and marks the state.
package learn

import (
	"cmp"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// Result is what can be concluded from a Session.
type Result struct {
	Device    hid.Device      // the headset; one of its HID devices
	Proposals []Proposal      // best first; each was replayed over the session and gave the marked states
	Notes     []string        // other hints to the user
	Summaries []ReportSummary // the reports received
}

// Proposal is a source of hardware_mute that explains a Session, or that the device declares: then no mark could be checked.
type Proposal struct {
	Rule    catalogue.SourceRule
	Device  hid.Device // whose reports it reads
	Why     string     // the evidence
	Reports int        // how many reports it is based on
	Right   int        // at how many marks the rule gave the marked state; at the others it was unknown
	Marks   int        // how many marks there were; 0: nothing was checked
	Doubts  []string   // what a person should verify
}

// maxProposals is how many proposals are shown.
const maxProposals = 3

// Infer searches for rules that derive the marks of a session from its reports. An error
// says why the session is unfit; finding no rule is not an error.
func Infer(s Session) (Result, error) {
	l, err := parseSession(s)
	if err != nil {
		return Result{}, err
	}
	l.noisyBits = l.countNoisyBits()
	found := l.proposals()
	return Result{Device: l.product, Proposals: found, Notes: l.notes(len(found)), Summaries: l.summaries()}, nil
}

// candidate is a proposal that has passed the check or is yet to be checked.
type candidate struct {
	Proposal
	rank rank
}

func newCandidate(k catalogue.SourceKind, d hid.Device, r rank, reports int) candidate {
	rule := catalogue.SourceRule{Field: devices.HardwareMute, SourceKind: k}
	return candidate{Proposal{Rule: rule, Device: d, Reports: reports}, r}
}

func (c *candidate) doubt(format string, args ...any) {
	c.Doubts = append(c.Doubts, fmt.Sprintf(format, args...))
}

// compare orders the better candidate first. A reported state beats counted presses, a declared usage beats bytes, and of
// those the fewest bits with the fewest conditions are best.
func (c candidate) compare(o candidate) int {
	a, b := c.rank, o.rank
	switch {
	case a.toggle && !b.toggle:
		return 1
	case b.toggle && !a.toggle:
		return -1
	}
	return cmp.Or(cmp.Compare(a.excess, b.excess), cmp.Compare(a.tests, b.tests), cmp.Compare(a.zeros, b.zeros), cmp.Compare(a.form, b.form))
}

// rank orders candidates, see candidate.compare.
type rank struct {
	toggle bool
	excess int // changes of the value after the first in a phase
	tests  int // conditions
	zeros  int // conditions that a byte is 0, which may be unused
	form   form
}

// form is how a rule reads the state.
type form int

const (
	declaredForm form = iota // by its usage
	bitForm                  // one bit
	maskForm                 // several bits that change together
	byteForm                 // lists of values
)

// proposals returns the best candidates that pass the check. If any reads a reported state, those that
// count presses are dropped.
func (l *analysis) proposals() []Proposal {
	found := l.usages()
	declared := found
	for _, s := range l.streams {
		for _, c := range l.search(s) {
			if !slices.ContainsFunc(declared, c.readsSameBits) {
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, candidate.compare)
	if len(found) > 0 && !found[0].rank.toggle {
		found = slices.DeleteFunc(found, func(c candidate) bool { return c.rank.toggle })
	}
	found = distinct(found)
	var out []Proposal
	if len(found) > 0 && found[0].rank.toggle {
		if p, ok := l.lampRule(found[0]); ok {
			out = append(out, p)
		}
	}
	for _, c := range found[:min(len(found), maxProposals-len(out))] {
		out = append(out, c.Proposal)
	}
	return out
}

// distinct drops candidates that differ from an earlier one only in their conditions.
func distinct(list []candidate) (out []candidate) {
	for _, c := range list {
		same := func(o candidate) bool {
			if c.Rule.HIDReport == nil || o.Rule.HIDReport == nil || c.Device.Node != o.Device.Node {
				return false
			}
			return reflect.DeepEqual(unconditional(*o.Rule.HIDReport), unconditional(*c.Rule.HIDReport))
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, c)
		}
	}
	return out
}

// unconditional returns the report without its conditions.
func unconditional(r catalogue.HIDReport) catalogue.HIDReport {
	r.When = nil
	if r.Value != nil {
		v := *r.Value
		v.Valid = nil
		r.Value = &v
	}
	return r
}

// search searches for rules with as few conditions as possible.
func (l *analysis) search(s *stream) (out []candidate) {
	levels, toggles := false, false
	for tests := 0; tests <= maxTests && !levels; tests++ {
		var found []candidate
		for _, c := range l.subsets(s, tests) {
			found = append(found, l.levels(c)...)
			if !toggles {
				found = append(found, l.toggles(c)...)
			}
		}
		for _, c := range l.accept(found) {
			levels, toggles = levels || !c.rank.toggle, toggles || c.rank.toggle
			out = append(out, c)
		}
	}
	return out
}

// rule returns the rule that reads a value from the reports of a subset.
func (l *analysis) rule(c subset, v *catalogue.ByteValue) *catalogue.HIDReport {
	return &catalogue.HIDReport{Interface: l.interfaceOf(c.device), ReportID: c.id, When: c.when, Value: v}
}

// interfaceOf returns the number of the device's USB interface, or nil if the product has HID devices on only one.
func (l *analysis) interfaceOf(d hid.Device) *int {
	several := slices.ContainsFunc(l.devices, func(o *hid.Device) bool { return o.Interface != l.devices[0].Interface })
	if d.Interface < 0 || !several && len(l.denied) == 0 {
		return nil
	}
	return &d.Interface
}

// readsSameBits reports whether another candidate, for a declared control, reads the same bits.
func (c candidate) readsSameBits(o candidate) bool {
	r, u := c.Rule.HIDReport, o.Rule.HIDUsage
	if r == nil || u == nil || r.Value == nil || c.Device.Node != o.Device.Node {
		return false
	}
	for _, f := range u.Fields(hid.Describe(o.Device)) {
		if f.ReportID != 0 && (r.ReportID == nil || catalogue.Byte(f.ReportID) != *r.ReportID) {
			continue
		}
		if mask := f.MaskAt(r.Value.Byte); mask&maskOf(r.Value.Mask) != 0 {
			return true
		}
	}
	return false
}

// rank returns the rank of a candidate for the subset.
func (c subset) rank(toggle bool, form form) rank {
	r := rank{toggle: toggle, tests: len(c.when), form: form}
	for _, t := range c.when {
		if *t.Eq == 0 {
			r.zeros++
		}
	}
	return r
}

// conditions describes the conditions of a subset.
func conditions(when []catalogue.ByteTest) string {
	var parts []string
	for _, t := range when {
		parts = append(parts, fmt.Sprintf("byte %d is 0x%02x", t.Byte, int(*t.Eq)))
	}
	if parts == nil {
		return ""
	}
	return " where " + strings.Join(parts, " and ")
}

// meaningsOf returns in words which values mean true, and which false.
func meaningsOf(v catalogue.ByteValue) (on, off string) {
	switch {
	case v.On != nil:
		return oneOf(v.On), oneOf(v.Off)
	case v.Invert:
		return "0", "1"
	default:
		return "1", "0"
	}
}

// location describes where a value is.
func location(v catalogue.ByteValue) string {
	mask := maskOf(v.Mask)
	switch {
	case mask == 0xff:
		return fmt.Sprintf("byte %d", v.Byte)
	case mask&(mask-1) == 0:
		return fmt.Sprintf("byte %d bit %d (mask 0x%02x)", v.Byte, bits.TrailingZeros8(mask), mask)
	default:
		return fmt.Sprintf("byte %d under the mask 0x%02x", v.Byte, mask)
	}
}

func oneOf(values []catalogue.Byte) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprintf("0x%02x", int(v)))
	}
	return strings.Join(words, " or ")
}
