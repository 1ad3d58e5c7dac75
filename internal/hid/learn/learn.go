// Package learn infers the rules of a catalogue from what a headset sends while its user presses mute and says what is true.
package learn

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/stable"
)

// Result is what can be concluded from a Session.
type Result struct {
	Device    hid.Device      // the headset; one of its HID devices
	Proposals []Proposal      // best first; each one was run over the session and gave the marked states
	Notes     []string        // what else a person should know
	Summaries []ReportSummary // the reports that came
}

// Proposal is a source of hardware_mute that explains a Session.
type Proposal struct {
	Rule    catalogue.SourceRule
	Device  hid.Device // whose reports it reads
	Why     string     // what was seen
	Reports int        // how many reports it rests on
	Right   int        // at how many marks the rule gave the marked state; at no mark another one
	Marks   int        // how many marks there were
	Doubts  []string   // what a person should make sure of
}

// maxProposals is how many are worth reading.
const maxProposals = 3

// Infer looks for rules that tell from the reports of a session what its marks say. The error is
// an *UnfitError; that nothing was found is none.
func Infer(s Session) (Result, error) {
	l, err := parseSession(s)
	if err != nil {
		return Result{}, err
	}
	found := l.proposals()
	return Result{Device: l.product, Proposals: found, Notes: l.notes(len(found)), Summaries: l.summaries()}, nil
}

// candidate is a proposal that is yet to be checked, or has passed the check.
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

// compare puts the better candidate first.
func (c candidate) compare(o candidate) int { return c.rank.compare(o.rank) }

// rank orders candidates. A state that the device shows beats presses that are counted, what the
// descriptor declares beats bytes, and of those the fewest bits with the fewest conditions are best.
type rank struct {
	toggle bool
	turns  int // changes too many
	bytes  bool
	tests  int
	zeros  int // conditions that a byte is 0: that may be unused room
	form   form
}

// form is what a rule reads off a byte.
type form int

const (
	bitForm  form = iota // one bit
	maskForm             // some bits that change together
	byteForm             // values of it
)

func (r rank) compare(o rank) int {
	return cmp.Or(compareBools(r.toggle, o.toggle), cmp.Compare(r.turns, o.turns), compareBools(r.bytes, o.bytes),
		cmp.Compare(r.tests, o.tests), cmp.Compare(r.zeros, o.zeros), cmp.Compare(r.form, o.form))
}

// compareBools puts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// proposals are the candidates that pass the check. Beside a state that the device shows, presses
// are not worth counting.
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
	stable.Sort(found, candidate.compare)
	if len(found) > 0 && !found[0].rank.toggle {
		found = slices.DeleteFunc(found, func(c candidate) bool { return c.rank.toggle })
	}
	found = distinct(found)
	var out []Proposal
	for _, c := range found[:min(len(found), maxProposals)] {
		out = append(out, c.Proposal)
	}
	return out
}

// distinct leaves out what reads the same as an earlier one, under other conditions.
func distinct(list []candidate) (out []candidate) {
	for _, c := range list {
		same := func(o candidate) bool {
			if c.Rule.HIDReport == nil || o.Rule.HIDReport == nil || c.Device.Node != o.Device.Node {
				return false
			}
			r := *o.Rule.HIDReport
			r.When = c.Rule.HIDReport.When
			return reflect.DeepEqual(r, *c.Rule.HIDReport)
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, c)
		}
	}
	return out
}

// search looks for rules with as few conditions as will do.
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

// rule reads a value off the reports of a subset.
func (l *analysis) rule(c subset, v *catalogue.ByteValue) *catalogue.HIDReport {
	return &catalogue.HIDReport{Interface: l.interfaceOf(c.device), ReportID: c.id, When: c.when, Value: v}
}

// interfaceOf is the number of the device's USB interface, if the product has HID devices on more than one.
func (l *analysis) interfaceOf(d hid.Device) *int {
	several := slices.ContainsFunc(l.devices, func(o *hid.Device) bool { return o.Interface != l.devices[0].Interface })
	if d.Interface < 0 || !several && len(l.denied) == 0 {
		return nil
	}
	return &d.Interface
}

// readsSameBits reports whether another candidate, of a declared control, reads the same bits.
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

// rank is the rank of a candidate for the subset.
func (c subset) rank(toggle bool, form form) rank {
	r := rank{toggle: toggle, bytes: true, tests: len(c.when), form: form}
	for _, t := range c.when {
		if *t.Eq == 0 {
			r.zeros++
		}
	}
	return r
}

// conditions are the conditions of a subset in words.
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

// levelWords are what a level showed.
func levelWords(v catalogue.ByteValue) string {
	on, off := "1", "0"
	switch {
	case v.On != nil:
		on, off = oneOf(v.On), oneOf(v.Off)
	case v.Invert:
		on, off = off, on
	}
	return fmt.Sprintf("%s is %s whenever you said muted and %s whenever not", place(v), on, off)
}

// toggleWords are what a button showed.
func toggleWords(v catalogue.ByteValue) string {
	to := "1"
	switch {
	case v.On != nil:
		to = oneOf(v.On)
	case v.Invert:
		to = "0"
	}
	return fmt.Sprintf("%s became %s", place(v), to)
}

// place is where a value stands, in words.
func place(v catalogue.ByteValue) string {
	mask := maskOf(v.Mask)
	switch {
	case mask == 0xff:
		return fmt.Sprintf("byte %d", v.Byte)
	case mask&(mask-1) == 0:
		bit := 0
		for mask>>bit != 1 {
			bit++
		}
		return fmt.Sprintf("byte %d bit %d (mask 0x%02x)", v.Byte, bit, mask)
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
