package hid

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// Rules are the sources of a catalogue that read HID devices, made ready for one OS. They are
// immutable; the zero Rules want no device.
type Rules struct {
	list  []*rule
	links map[string][]linkRule // by product
}

// rule is one source at its place in a product, or what is an anchor there.
type rule struct {
	product  string
	at       string   // sources[1], link_state[0], sources[2].derive.or[1], sources[1].hid_usage.anchor.hid_query
	anchors  string   // the place of the toggle that starts from it; empty: it is a source of its own
	link     bool     // it tells the state of the product's link
	mute     bool     // it tells hardware_mute
	bySerial bool     // the product is several USB devices with one serial number
	relies   []string // the places of levels, one of which must tell when an answer is over; empty: it needs none
	ids      []hardware
	wireless []hardware // those of ids that come without the headset being switched on: of dongles, and by Bluetooth
	devices.SourceKind
}

// linkRule is one source of the state of a link, which may be derived from several rules.
type linkRule struct {
	at string
	devices.SourceKind
}

type hardware struct {
	bus      devices.Bus
	vid, pid string
}

// NewRules returns the HID sources of a catalogue that passes its checks.
func NewRules(cat *devices.Catalogue, os devices.OS) *Rules {
	r := &Rules{links: make(map[string][]linkRule)}
	for _, p := range cat.Products {
		ids, wireless := hardwareOf(p, os)
		if len(ids) == 0 {
			continue
		}
		base := rule{product: p.ID, bySerial: p.GroupBy == devices.GroupSerial, ids: ids, wireless: wireless}
		told := make(map[devices.Field][]string) // the places of levels so far; those of the link under ""
		for i, l := range p.LinkState {
			if applies(l.OS, os) {
				rl := base
				rl.at, rl.link, rl.SourceKind = fmt.Sprintf("link_state[%d]", i), true, l.SourceKind
				r.add(rl, told[""])
				told[""] = rl.levels(told[""])
				r.links[p.ID] = append(r.links[p.ID], linkRule{rl.at, rl.SourceKind})
			}
		}
		for i, s := range p.Sources {
			if applies(s.OS, os) {
				rl := base
				rl.at, rl.mute, rl.SourceKind = fmt.Sprintf("sources[%d]", i), s.Field == devices.HardwareMute, s.SourceKind
				r.add(rl, told[s.Field])
				told[s.Field] = rl.levels(told[s.Field])
			}
		}
	}
	return r
}

func applies(list []devices.OS, os devices.OS) bool {
	return len(list) == 0 || slices.Contains(list, os)
}

func hardwareOf(p devices.Product, os devices.OS) (ids, wireless []hardware) {
	for _, l := range p.Links {
		bus := devices.USB
		if l.Kind == devices.LinkBluetooth {
			bus = devices.Bluetooth
		}
		for _, pid := range l.PIDs {
			if !applies(l.OS, os) {
				continue
			}
			id := hardware{bus, strings.ToLower(l.VID), strings.ToLower(pid)}
			ids = append(ids, id)
			if l.Kind.IsWireless() {
				wireless = append(wireless, id)
			}
		}
	}
	return ids, wireless
}

// levels adds the rule's place to those of levels if it is one.
func (rl *rule) levels(before []string) []string {
	if !rl.Tells() {
		return before
	}
	return append(slices.Clip(before), rl.at)
}

// add keeps the source with its anchors, or those that it is derived from, if it reads HID devices.
// levels are the places of those before it that tell of each change.
func (r *Rules) add(rl rule, levels []string) {
	if rl.Derive != nil {
		for at, k := range rl.Derive.Terms(rl.at) {
			term := rl
			term.at, term.SourceKind = at, k
			r.add(term, levels)
		}
		return
	}
	if rl.HIDUsage == nil && rl.HIDReport == nil && rl.HIDQuery == nil && rl.HIDPP == nil {
		return
	}
	if rl.OnlyAsked() && rl.anchors == "" {
		rl.relies = levels
	}
	r.list = append(r.list, &rl)
	if a := rl.anchor(); a != nil {
		part := rl
		part.anchors = rl.at
		part.SourceKind = devices.SourceKind{HIDReport: a.HIDReport}
		part.at = rl.at + "." + rl.Via() + ".anchor.hid_report"
		r.add(part, nil)
		part.SourceKind = devices.SourceKind{HIDQuery: a.HIDQuery}
		part.at = rl.at + "." + rl.Via() + ".anchor.hid_query"
		r.add(part, nil)
	}
}

// Wants reports whether a rule can read something off the device: the others need not be opened.
func (r *Rules) Wants(d Device) bool {
	desc := Describe(d)
	return slices.ContainsFunc(r.list, func(rl *rule) bool { return rl.fits(d, desc) })
}

// Empty reports whether no device is wanted at all.
func (r *Rules) Empty() bool { return len(r.list) == 0 }

// Describe returns what the device declares, or nil if that makes no sense or could not be read.
func Describe(d Device) *descriptor.Descriptor {
	desc, err := descriptor.Parse(d.Descriptor)
	if err != nil || len(d.Descriptor) == 0 {
		return nil
	}
	return desc
}

func hardwareID(d Device) hardware { return hardware{d.Bus, d.VID, d.PID} }

// isWireless reports whether the device comes without its headset being switched on.
func (rl *rule) isWireless(d Device) bool { return slices.Contains(rl.wireless, hardwareID(d)) }

// fits says whether the device is of the rule's product and has what the rule reads.
func (rl *rule) fits(d Device, desc *descriptor.Descriptor) bool {
	if !slices.Contains(rl.ids, hardwareID(d)) {
		return false
	}
	if n := rl.usbInterface(); n != nil && *n != d.Interface {
		return false
	}
	if rl.HIDReport != nil && rl.HIDReport.AnyReport() && isNumbered(desc) {
		return false // it would take any key for what it reads
	}
	if desc == nil {
		return rl.HIDUsage == nil // bytes can be compared all the same
	}
	switch {
	case rl.HIDUsage != nil:
		return len(UsageFields(*rl.HIDUsage, desc)) > 0
	case rl.HIDReport != nil:
		return rl.HIDReport.ReportID == nil || desc.Length(descriptor.Input, uint8(*rl.HIDReport.ReportID)) > 0
	case rl.HIDQuery != nil:
		return queryFits(*rl.HIDQuery, desc)
	default:
		return desc.Length(descriptor.Input, hidppLong) > 0 && desc.Length(descriptor.Output, hidppLong) > 0
	}
}

func queryFits(q devices.HIDQuery, desc *descriptor.Descriptor) bool {
	switch {
	case len(q.Feature) > 0:
		return desc.Length(descriptor.Feature, q.Feature[0]) > 0
	case len(q.Input) > 0:
		return desc.Length(descriptor.Input, q.Input[0]) > 0
	case len(q.LastOutput) > 0:
		return desc.Length(descriptor.Output, q.LastOutput[0]) > 0
	}
	return !slices.ContainsFunc(q.Output, func(o devices.Bytes) bool { return desc.Length(descriptor.Output, o[0]) == 0 })
}

func (rl *rule) usbInterface() *int {
	switch {
	case rl.HIDUsage != nil:
		return rl.HIDUsage.Interface
	case rl.HIDReport != nil:
		return rl.HIDReport.Interface
	case rl.HIDQuery != nil:
		return rl.HIDQuery.Interface
	default:
		return rl.HIDPP.Interface
	}
}

// anchor is what a toggle starts from.
func (rl *rule) anchor() *devices.Anchor {
	switch {
	case rl.HIDUsage != nil:
		return rl.HIDUsage.Anchor
	case rl.HIDReport != nil:
		return rl.HIDReport.Anchor
	default:
		return nil
	}
}
