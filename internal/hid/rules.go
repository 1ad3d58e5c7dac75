package hid

import (
	"reflect"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// Rules are the sources of a catalogue that read HID devices, on one OS. They are immutable; the zero Rules want no device.
type Rules struct {
	list  []*Rule
	links map[string][]devices.Source
}

// NewRules returns the rules, with what tells the state of each product's link, by the product's id.
func NewRules(list []Rule, links map[string][]devices.Source) *Rules {
	r := &Rules{links: links}
	for i := range list {
		r.list = append(r.list, &list[i])
		if a := list[i].Anchor; a != nil {
			for j := range a.Sources {
				r.list = append(r.list, &a.Sources[j])
			}
		}
	}
	return r
}

// Rule is one source at its place in a product, or what a toggle there starts from. Exactly one of Usage, Report, Query
// and HIDPP is set.
type Rule struct {
	Product        string   // its id in the catalogue
	Place          string   // sources[1], link_state[0], sources[2].derive.or[1], sources[1].hid_usage.anchor.hid_query
	AnchorOf       string   // the place of the toggle that starts from it; empty: it is a source of its own
	Link           bool     // it tells the state of the product's link
	BySerial       bool     // the product is several USB devices with one serial number
	ReportsChanges bool     // the device tells each new state by itself
	DependsOn      []string // the places of levels, one of which must tell when an answer is over; empty: it needs none
	Models         []Model  // hardware of the product, any of which will do
	Interface      *int     // number of the USB interface; nil: any

	Usage  *Usage       // of a hid_usage
	Report *InputReport // of a hid_report
	Query  *Query       // of a hid_query
	HIDPP  *PPFeature   // of a hidpp

	Debounce time.Duration // a toggle: what follows a press so soon does not count; a level: a value counts that lasts so long
	Anchor   *Anchor       // of a toggle; nil: it has none, and is never known
}

// Model is hardware of the rule's product.
type Model struct {
	Bus      devices.Bus // usb or bluetooth
	VID, PID string      // 4 lower-case hex digits each
	Wireless bool        // it comes without the headset being switched on: a dongle, or Bluetooth
}

// Usage is a control that the report descriptor declares.
type Usage struct {
	Page, Usage uint16             // as the descriptor declares them (HID Usage Tables)
	Form        descriptor.Control // what the device really does; empty: what the descriptor says
	Invert      bool               // 1 means false
	Request     bool               // a press may be a request that programs answer, and no query tells how
}

// InputReport is bytes of an input report.
type InputReport struct {
	ID     *byte  // number of the report; nil: any
	When   []Test // all of which a report that counts meets
	Value  *Value // nil: each report is a press
	Toggle bool   // it changes the state, whatever that is
}

// Anchor is what a toggle starts from.
type Anchor struct {
	Start   *bool  // the state after plugging in
	LinkUp  *bool  // the state after link_state has become true
	Sources []Rule // reports and queries of the device that tell its state
}

// Query is the device's answer to a request: exactly one of Output, Feature, Input and LastOutput is set.
type Query struct {
	Output     []Bytes       // reports to send, each after the answer to the one before
	Feature    Bytes         // number of the report, and what to set it to first
	Input      Bytes         // number of the report
	LastOutput Bytes         // number of the report
	Expect     []Test        // of the answer to the last request
	Value      Value         // in the answer to the last request
	At         []Moment      // nil: all
	AskOn      []Test        // of a report that gives cause to ask again
	RetryOn    []Test        // of an answer that says not yet
	Delay      time.Duration // before a report is read
	Poll       time.Duration // after an answer; 0: not by itself
	Timeout    time.Duration // of each answer
}

// PPFeature is a feature of HID++ 2.0.
type PPFeature struct {
	Device  byte          // which one behind a receiver; 0xff: the one that is asked
	Feature uint16        // id of the feature, not its index on the device
	Read    *int          // number of the function that tells the state
	Event   *int          // number of the event that does
	AskOn   []Test        // of a report that gives cause to ask again
	Value   Value         // in the parameters
	Timeout time.Duration // of each answer
}

// Test is a condition on one byte of a report. A report that is too short does not meet it.
type Test struct {
	Byte int       // which, from 0
	Fits [256]bool // by its value: whether the condition is met
}

// Value is what the values of one byte of a report mean.
type Value struct {
	Byte  int              // which, from 0
	Means [256]devices.Tri // by its value; Unknown: it tells no state
}

// Moment is when a device is asked.
type Moment string

// The moments.
const (
	AtAttach Moment = "attach"  // when the agent first sees the device
	AtResume Moment = "resume"  // after the machine has slept, or reports were lost
	AtLinkUp Moment = "link_up" // when link_state has become true
)

// Enum lists the names that a file may use.
func (Moment) Enum() []string { return devices.Names([]Moment{AtAttach, AtResume, AtLinkUp}) }

// AnyReport reports whether the rule looks at every report of the device.
func (r InputReport) AnyReport() bool { return r.ID == nil && len(r.When) == 0 }

// via is the kind of the rule's source, as an Origin has it.
func (r *Rule) via() string {
	switch {
	case r.Usage != nil:
		return devices.ViaHIDUsage
	case r.Report != nil:
		return devices.ViaHIDReport
	case r.Query != nil:
		return devices.ViaHIDQuery
	default:
		return devices.ViaHIDPP
	}
}

// same reports whether another rule reads the same off the same: another one may apply to more devices, and depend on others.
func (r *Rule) same(other *Rule) bool {
	return r.Product == other.Product && r.Place == other.Place && reflect.DeepEqual(r.reading(), other.reading())
}

// reading is what the rule reads, of whichever devices.
func (r *Rule) reading() Rule {
	out := *r
	out.Models, out.DependsOn = nil, nil
	if r.Anchor != nil {
		anchor := *r.Anchor
		anchor.Sources = nil
		for i := range r.Anchor.Sources {
			anchor.Sources = append(anchor.Sources, r.Anchor.Sources[i].reading())
		}
		out.Anchor = &anchor
	}
	return out
}

// Wants reports whether a rule can read something off the device: the others need not be opened.
func (r *Rules) Wants(d Device) bool {
	desc := Describe(d)
	return slices.ContainsFunc(r.list, func(rule *Rule) bool { return rule.fits(d, desc) })
}

// Empty reports whether no device is wanted at all.
func (r *Rules) Empty() bool { return len(r.list) == 0 }

// isOf reports whether the device is hardware of the rule's product.
func (r *Rule) isOf(d Device) bool {
	return slices.ContainsFunc(r.Models, func(m Model) bool { return m.Bus == d.Bus && m.VID == d.VID && m.PID == d.PID })
}

// isWireless reports whether the device comes without its headset being switched on.
func (r *Rule) isWireless(d Device) bool {
	return slices.Contains(r.Models, Model{d.Bus, d.VID, d.PID, true})
}

// fits says whether the device is of the rule's product and has what the rule reads.
func (r *Rule) fits(d Device, desc *descriptor.Descriptor) bool {
	if !r.isOf(d) || r.Interface != nil && *r.Interface != d.Interface {
		return false
	}
	if r.Report != nil && r.Report.AnyReport() && isNumbered(desc) {
		return false // it would take any key for what it reads
	}
	if desc == nil {
		return r.Usage == nil // bytes can be compared all the same
	}
	switch {
	case r.Usage != nil:
		return len(r.Usage.fields(desc)) > 0
	case r.Report != nil:
		return r.Report.ID == nil || desc.Length(descriptor.Input, *r.Report.ID) > 0
	case r.Query != nil:
		return r.Query.fits(desc)
	default:
		return desc.Length(descriptor.Input, hidppLong) > 0 && desc.Length(descriptor.Output, hidppLong) > 0
	}
}

func (q *Query) fits(desc *descriptor.Descriptor) bool {
	switch {
	case len(q.Feature) > 0:
		return desc.Length(descriptor.Feature, q.Feature[0]) > 0
	case len(q.Input) > 0:
		return desc.Length(descriptor.Input, q.Input[0]) > 0
	case len(q.LastOutput) > 0:
		return desc.Length(descriptor.Output, q.LastOutput[0]) > 0
	}
	return !slices.ContainsFunc(q.Output, func(o Bytes) bool { return desc.Length(descriptor.Output, o[0]) == 0 })
}
