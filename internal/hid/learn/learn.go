// Package learn infers the rules of a catalogue from what a headset sends while its user presses mute and says what is true.
package learn

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid"
)

// Result is what can be concluded from a Session.
type Result struct {
	Device    hid.Device // the headset; one of its HID devices
	Proposals []Proposal // best first; each one was run over the session and gave the marked states
	Notes     []string   // what else a person should know
	Seen      []Seen     // the reports that came
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

// mostProposals is how many are worth reading.
const mostProposals = 3

// Infer looks for rules that tell from the reports of a session what its marks say. The error is
// an *UnfitError; that nothing was found is none.
func Infer(s Session) (Result, error) {
	l, err := parseSession(s)
	if err != nil {
		return Result{}, err
	}
	found := l.proposals()
	return Result{Device: l.product, Proposals: found, Notes: l.notes(len(found)), Seen: l.seen()}, nil
}

// candidate is a rule that is yet to be checked.
type candidate struct {
	catalogue.SourceKind
	device  hid.Device
	rank    rank
	why     string
	reports int
	doubts  []string
}

func (c *candidate) doubt(format string, args ...any) {
	c.doubts = append(c.doubts, fmt.Sprintf(format, args...))
}

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

// proposals are the candidates that stand the check. Beside a state that the device shows, presses
// are not worth counting.
func (l *analysis) proposals() []Proposal {
	found := l.usages()
	covered := func(c candidate) bool { return slices.ContainsFunc(found, c.readsSameBits) }
	var reports []accepted
	for _, s := range l.streams {
		reports = append(reports, l.search(s)...)
	}
	for _, a := range reports {
		if !covered(a.candidate) {
			found = append(found, a)
		}
	}
	slices.SortStableFunc(found, func(a, b accepted) int { return a.rank.compare(b.rank) })
	if len(found) > 0 {
		best := found[0].rank
		found = slices.DeleteFunc(found, func(a accepted) bool {
			return a.rank.toggle && !best.toggle
		})
	}
	found = distinct(found)
	var out []Proposal
	for _, a := range found[:min(len(found), mostProposals)] {
		out = append(out, a.proposal(len(l.phases)))
	}
	return out
}

// distinct leaves out what reads the same as an earlier one, under other conditions.
func distinct(list []accepted) []accepted {
	var out []accepted
	for _, a := range list {
		same := func(o accepted) bool {
			if a.HIDReport == nil || o.HIDReport == nil || a.device.Node != o.device.Node {
				return false
			}
			r := *o.HIDReport
			r.When = a.HIDReport.When
			return reflect.DeepEqual(r, *a.HIDReport)
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, a)
		}
	}
	return out
}

// search looks for rules with as few conditions as will do.
func (l *analysis) search(s *stream) []accepted {
	var out []accepted
	levels, toggles := false, false
	for tests := 0; tests <= mostTests && !levels; tests++ {
		var found []candidate
		for _, c := range l.classes(s, tests) {
			found = append(found, l.levels(c)...)
			if !toggles {
				found = append(found, l.toggles(c)...)
			}
		}
		for _, a := range l.accept(found) {
			levels, toggles = levels || !a.rank.toggle, toggles || a.rank.toggle
			out = append(out, a)
		}
	}
	return out
}

// rule is the beginning of a rule for the reports of a class.
func (c class) rule(several bool) catalogue.HIDReport {
	r := catalogue.HIDReport{ReportID: c.id, When: c.when}
	if several && c.device.Interface >= 0 {
		n := c.device.Interface
		r.Interface = &n
	}
	return r
}

// hasInterfaces reports whether the product has HID devices on more than one interface.
func (l *analysis) hasInterfaces() bool {
	return slices.ContainsFunc(l.devices, func(d *hid.Device) bool { return d.Interface != l.devices[0].Interface }) || len(l.denied) > 0
}

// readsSameBits reports whether another candidate, of a declared control, reads the same bits.
func (c candidate) readsSameBits(o accepted) bool {
	r, u := c.HIDReport, o.HIDUsage
	if r == nil || u == nil || r.Value == nil || c.device.Node != o.device.Node {
		return false
	}
	for _, f := range u.Fields(hid.Describe(o.device)) {
		if f.ReportID != 0 && (r.ReportID == nil || catalogue.Byte(f.ReportID) != *r.ReportID) {
			continue
		}
		if mask := f.MaskAt(r.Value.Byte); mask&maskOf(r.Value.Mask) != 0 {
			return true
		}
	}
	return false
}

// rank is the rank of a candidate for the class.
func (c class) rank(toggle bool, form form) rank {
	r := rank{toggle: toggle, bytes: true, tests: len(c.when), form: form}
	for _, t := range c.when {
		if *t.Eq == 0 {
			r.zeros++
		}
	}
	return r
}

// conditions are the conditions of a class in words.
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
