package hid

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// Rules are a catalogue's HID sources on one OS. They are immutable; the zero Rules want no device.
type Rules struct {
	list  []*Rule
	links map[string][]devices.Source
}

// NewRules returns the rules, with the sources of link_state by product id.
func NewRules(list []Rule, links map[string][]devices.Source) *Rules {
	r := &Rules{links: links}
	for i := range list {
		r.list = append(r.list, &list[i])
		if a := list[i].Anchor; a != nil {
			for _, source := range a.Sources {
				source.Models = list[i].Models
				r.list = append(r.list, &source)
			}
		}
	}
	return r
}

// Rule is one source of a product, or an anchor of a toggle. Exactly one of Usage, Report, Query and HIDPP is set.
type Rule struct {
	Product        string   // its id in the catalogue
	Path           string   // sources[1], link_state[0], sources[2].derive.or[1], sources[1].hid_usage.anchor.hid_query
	Via            string   // the kind of source, as in devices.Origin
	AnchorOf       string   // the path of the toggle that it anchors; empty: it is a source of its own
	Link           bool     // it belongs to link_state
	Urgent         bool     // it is asked before others: of hardware_mute
	BySerial       bool     // the product is several USB devices with one serial number
	ReportsChanges bool     // the device reports each new state by itself
	DependsOn      []string // paths of levels, one of which must tell when an answer is outdated; empty: none needed
	Models         []Model  // hardware of the product
	Interface      *int     // number of the USB interface; nil: any
	Firmware       Firmware // versions that it is for

	Usage  *Usage       // of a hid_usage
	Report *InputReport // of a hid_report
	Query  *Query       // of a hid_query
	HIDPP  *PPFeature   // of a hidpp

	Debounce time.Duration // a toggle: presses within this time of the last are ignored; a level: how long a new value must last
	MaxAge   time.Duration // of a level: how soon the device repeats it; 0: it need not
	Anchor   *Anchor       // of a toggle; nil: none, so its state is never known
}

// Model identifies hardware of a product.
type Model struct {
	Bus      devices.Bus    // usb or bluetooth
	VID, PID string         // 4 lower-case hex digits each
	Name     *regexp.Regexp // found in the name of the hardware, where models share ids; nil: any
	Wireless bool           // a dongle, or Bluetooth: it may appear without the headset being switched on
}

// Firmware is a range of versions, each 4 lower-case hex digits (bcdDevice). An empty end is open; the zero Firmware is any, also an
// unknown one.
type Firmware struct {
	Min, Max string // both included
}

// has reports whether a version, empty if unknown, is in the range.
func (f Firmware) has(version string) bool {
	return f == Firmware{} || version != "" && f.Min <= version && (f.Max == "" || version <= f.Max)
}

// Usage is a control that the report descriptor declares.
type Usage struct {
	Page, Usage uint16             // as the descriptor declares them (HID Usage Tables)
	Form        descriptor.Control // overrides the descriptor's; empty: does not
	Invert      bool               // 1 means false
}

// InputReport selects input reports, and a value in them.
type InputReport struct {
	ID     *byte  // number of the report; nil: any
	When   []Test // all must be met
	Value  *Value // nil: each report is a press
	Toggle bool   // it flips the state
}

// Anchor gives a toggle its absolute state.
type Anchor struct {
	Start   *bool  // the state after plugging in
	LinkUp  *bool  // the state after link_state has become true
	Sources []Rule // reports and queries that tell its state; NewRules sets their Models
}

// Query is the device's answer to the last of several requests.
type Query struct {
	Field   *Field        // what the only step reads, by its usage; nil: the steps say it
	Steps   []Step        // at least one; the last one is answered
	Value   Value         // in the answer to the last one
	At      []Moment      // nil: all
	AskOn   []Test        // of a report that triggers the query
	Poll    time.Duration // after an answer; 0: no polling
	Timeout time.Duration // of each answer
}

// Step is one request of a query. At most one of Output and Set is given, and one of Read and Arrives.
type Step struct {
	Output  Bytes           // report to send
	Set     Bytes           // feature report to set, its number first
	Read    descriptor.Kind // kind of the report that is read then; output: what was sent last; empty: none
	ID      byte            // its number
	Arrives bool            // the answer is an input report that arrives

	Expect  []Test        // conditions on the answer
	RetryOn []Test        // of an answer that means "not ready": the request is repeated after Pause
	Pause   time.Duration // before the request
}

// Sent returns the report that the step sends or sets; empty: it does neither.
func (s Step) Sent() Bytes { return slices.Concat(s.Output, s.Set) }

// TellsFrom reports whether Expect tells the answer from that to another request, because the device repeats in it a byte of this request
// in which the other one differs.
func (s Step) TellsFrom(other Step) bool {
	sent := other.Sent()
	return s.repeats(func(t Test, i int) bool { return !t.Fits[sent.at(i)] })
}

// Repeats reports whether Expect tests a byte in which the device repeats the request.
func (s Step) Repeats() bool {
	return s.repeats(func(t Test, _ int) bool { return slices.Contains(t.Fits[:], false) })
}

// repeats reports whether Expect tests a byte in which the device repeats a byte of the request, such that which holds for the condition
// and the index of the byte in the request. The number of the report that answers is no such byte: all reports with that number have it.
func (s Step) repeats(which func(t Test, i int) bool) bool {
	sent := s.Sent()
	isNumbered := !s.Arrives || len(sent) > 0 && sent[0] != 0
	return slices.ContainsFunc(s.Expect, func(t Test) bool {
		for i := 1; i < len(sent) && (t.Byte > 0 || !isNumbered); i++ {
			if t.Fits[sent[i]] && which(t, i) {
				return true
			}
		}
		return false
	})
}

// last returns the step whose answer has the state.
func (q *Query) last() Step { return q.Steps[len(q.Steps)-1] }

// UsageOf is a usage with its page (HID Usage Tables).
type UsageOf struct{ Page, Usage uint16 }

// Field is a field of a report that is read on request.
type Field struct {
	Kind        descriptor.Kind  // output: what was sent last
	Page, Usage uint16           // as the descriptor declares it (HID Usage Tables)
	AskOn       []UsageOf        // in input reports that tell of a change
	Means       [256]devices.Tri // the state, by the field's value
}

// PPFeature is a feature of HID++ 2.0.
type PPFeature struct {
	Centurion bool          // its messages go through the bridge of a dongle, in reports 0x50 or 0x51
	Device    byte          // device index behind a receiver; 0xff: the addressed device itself; of Centurion: the address in report 0x50
	Feature   uint16        // id of the feature, not its index on the device
	Read      *int          // number of the function that tells the state
	Events    []int         // numbers of the events that tell it
	AskOn     []Test        // of a report that triggers the query
	Value     Value         // in the parameters
	Timeout   time.Duration // of each answer
}

// framing returns how the messages are packed into the reports of a device; nil: it has no such reports.
func (f *PPFeature) framing(desc *descriptor.Descriptor) framing {
	if !f.Centurion {
		has := desc == nil || desc.Length(descriptor.Input, hidppLong) > 0 && desc.Length(descriptor.Output, hidppLong) > 0
		if has {
			return longReports{f.Device}
		}
		return nil
	}
	if c, ok := newCenturion(desc, f.Device); ok {
		return c
	}
	return nil
}

// Test is a condition on one byte of a report. A report that is too short does not meet it.
type Test struct {
	Byte int       // index, from 0
	Fits [256]bool // whether the condition is met, by the byte's value
}

// Value decodes a state from one byte of a report.
type Value struct {
	Byte  int              // index, from 0
	Means [256]devices.Tri // the state, by the byte's value
	Valid []Test           // all must be met, else the state is unknown
}

// Moment is when a device is queried.
type Moment string

// The moments.
const (
	AtAttach Moment = "attach"  // when the agent first sees the device
	AtResume Moment = "resume"  // after the machine has slept, or reports were lost
	AtLinkUp Moment = "link_up" // when link_state has become true
)

// Enum lists the names that a file may use.
func (Moment) Enum() []string { return devices.Names([]Moment{AtAttach, AtResume, AtLinkUp}) }

// same reports whether another rule reads the same, whatever its models and dependencies.
func (r *Rule) same(other *Rule) bool {
	a, b := *r, *other
	a.Models, a.DependsOn = b.Models, b.DependsOn
	return reflect.DeepEqual(a, b)
}

// Wants reports whether any rule can read the device. Other devices need not be opened.
func (r *Rules) Wants(d Device) bool {
	desc := Describe(d)
	return slices.ContainsFunc(r.list, func(rule *Rule) bool { return rule.fits(d, desc) || rule.lacksVersion(d) })
}

// Knows reports whether any rule is about hardware with the device's bus, VID, PID and interface. One whose numbers are unknown may be
// any.
func (r *Rules) Knows(d Device) bool {
	return d.VID == "" || d.PID == "" || slices.ContainsFunc(r.list, func(rule *Rule) bool { return rule.isAbout(d) })
}

// Empty reports whether there are no rules.
func (r *Rules) Empty() bool { return len(r.list) == 0 }

// matches reports whether the device is hardware of the rule's product.
func (r *Rule) matches(d Device) bool {
	return slices.ContainsFunc(r.Models, func(m Model) bool { return m.hasIDs(d) })
}

// isAbout reports whether the device is an interface of such hardware that the rule may be about.
func (r *Rule) isAbout(d Device) bool {
	return r.matches(d) && (r.Interface == nil || *r.Interface == d.Interface)
}

func (m Model) hasIDs(d Device) bool { return m.Bus == d.Bus && m.VID == d.VID && m.PID == d.PID }

// addressing says when a rule may send requests to a device, since to another model the same request may mean something else.
type addressing int

const (
	never   addressing = iota // the device may be of another product, and its name does not tell
	whileUp                   // only while the link_state says that its product is there
	always
)

// addressing returns when a rule may send requests to the device. Where products share its ids, those of the product that its name tells
// may. Of products that share the name, too, the link_state tells which one is there, so only the rules of that may ask until it is known.
func (r *Rules) addressing(rule *Rule, d Device) addressing {
	all, named, plain := make(map[string]bool), make(map[string]string), make(map[string]string) // the expression of the link, by product
	distinct := false
	for _, other := range r.list {
		for _, m := range other.Models {
			switch {
			case !m.hasIDs(d):
				continue
			case m.Name == nil:
				plain[other.Product] = ""
			case m.Name.MatchString(d.Name):
				named[other.Product] = m.Name.String()
			}
			all[other.Product] = true
			distinct = distinct || m.Name != nil
		}
	}
	fitting := plain
	if len(named) > 0 {
		fitting = named
	}
	mine, fits := fitting[rule.Product]
	fits = fits && !slices.ContainsFunc(slices.Collect(maps.Values(fitting)), func(expression string) bool { return expression != mine })
	switch {
	case len(all) < 2:
		return always
	case !fits || distinct && d.Name == "":
		return never
	case len(fitting) == 1 || rule.Link:
		return always
	default:
		return whileUp
	}
}

// sends reports whether the rule sends requests.
func (r *Rule) sends() bool { return r.Query != nil || r.HIDPP != nil }

// isWireless reports whether the device may appear without its headset being switched on.
func (r *Rule) isWireless(d Device) bool {
	return slices.ContainsFunc(r.Models, func(m Model) bool { return m.Wireless && m.hasIDs(d) })
}

// lacksVersion reports whether the rule is for some versions of the product's firmware, and that of the device is unknown.
func (r *Rule) lacksVersion(d Device) bool {
	return r.matches(d) && d.Version == "" && !r.Firmware.has("")
}

// fits reports whether the device is of the rule's product and has what the rule reads.
func (r *Rule) fits(d Device, desc *descriptor.Descriptor) bool {
	if !r.isAbout(d) || !r.Firmware.has(d.Version) {
		return false
	}
	if r.Report != nil && r.Report.ID == nil && len(r.Report.When) == 0 && (desc == nil || desc.Numbered) {
		return false // it applies to every report: it would mistake any other one, such as a key, for its own
	}
	if r.HIDPP != nil {
		return r.HIDPP.framing(desc) != nil
	}
	return r.found(desc)
}

// found reports whether a device with that descriptor, nil if there is none, has what the rule reads.
func (r *Rule) found(desc *descriptor.Descriptor) bool {
	if desc == nil {
		return r.Usage == nil && (r.Query == nil || r.Query.Field == nil) // the others work without a descriptor
	}
	if r.readsBeyond(desc) {
		return false
	}
	switch {
	case r.Usage != nil:
		return len(r.Usage.fields(desc)) > 0
	case r.Report != nil:
		return r.Report.ID == nil || desc.Length(descriptor.Input, *r.Report.ID) > 0
	case r.Query != nil:
		q, _, ok := r.Query.resolve(desc)
		return ok && q.fits(desc)
	}
	return false
}

// isTooLong reports whether the device has the report that the rule reads, but a shorter one.
func (r *Rule) isTooLong(d Device, desc *descriptor.Descriptor) bool {
	return desc != nil && r.isAbout(d) && r.Firmware.has(d.Version) && r.readsBeyond(desc)
}

// readsBeyond reports whether the rule reads a byte that its report does not have, as where one model has two buses with reports of their
// own. What a system appends to a report must not be taken for a state.
func (r *Rule) readsBeyond(desc *descriptor.Descriptor) bool {
	switch {
	case r.Report != nil && (r.Report.ID != nil || !desc.Numbered):
		var number byte
		if r.Report.ID != nil {
			number = *r.Report.ID
		}
		length := desc.Length(descriptor.Input, number)
		return length > 0 && max(lastByte(r.Report.When), r.Report.Value.lastByte()) >= length
	case r.Query != nil && r.Query.Field == nil:
		step := r.Query.last()
		length := answerLength(step, desc)
		return length > 0 && max(lastByte(step.Expect), r.Query.Value.lastByte()) >= length
	}
	return false
}

// answerLength returns the length of the report that a step reads, its number included; 0: it reads none, or there is none.
func answerLength(s Step, desc *descriptor.Descriptor) int {
	length := desc.Length(s.Read, s.ID)
	if length > 0 && s.ID == 0 {
		length++ // where reports have no number, a 0 is in its place
	}
	return length
}

// lastByte returns the greatest index that the tests read, or -1.
func lastByte(tests []Test) int {
	last := -1
	for _, t := range tests {
		last = max(last, t.Byte)
	}
	return last
}

func (v *Value) lastByte() int {
	if v == nil {
		return -1
	}
	return max(v.Byte, lastByte(v.Valid))
}

func (q *Query) fits(desc *descriptor.Descriptor) bool {
	has := func(kind descriptor.Kind, report ...byte) bool {
		return len(report) == 0 || desc.Length(kind, report[0]) > 0
	}
	return !slices.ContainsFunc(q.Steps, func(s Step) bool {
		return !has(descriptor.Output, s.Output...) || !has(descriptor.Feature, s.Set...) || s.Read != "" && !has(s.Read, s.ID)
	})
}
