package learn

import (
	"fmt"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// The mute lamp of a headset (HID Usage Tables, section 11).
const (
	pageLED  = 0x08
	lampMute = 0x09
)

// lampRule returns the rule that reads back the mute lamp that the device of a toggle declares: on most headsets with such a lamp a press
// only asks the program in the call to mute, and the lamp is its answer. No recording can show that the lamp can be read back.
func (l *analysis) lampRule(toggle candidate) (Proposal, bool) {
	d := toggle.Device
	desc := hid.Describe(d)
	if desc == nil || d.Bus == devices.Bluetooth {
		return Proposal{}, false
	}
	fields := desc.Find(descriptor.Output, pageLED, lampMute)
	if len(fields) == 0 || fields[0].Array || fields[0].Size != 1 {
		return Proposal{}, false
	}
	f := fields[0]
	at := f.Offset / 8
	mask := f.MaskAt(at)
	if f.ReportID == 0 {
		at++ // for the number 0, with which it is read
	}
	q := catalogue.HIDQuery{
		Interface: l.interfaceOf(d), LastOutput: hid.Bytes{f.ReportID}, Value: catalogue.ByteValue{Byte: at, Mask: new(catalogue.Byte(mask))},
		AskOn: l.pressOf(toggle), PollMS: 2000,
	}
	if q.AskOn != nil {
		q.DelayMS = 150 // until the program has set the lamp
	}
	rule := catalogue.SourceRule{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{HIDQuery: &q}}
	if len(catalogueOf(rule, l.product).Check()) > 0 {
		return Proposal{}, false
	}
	return Proposal{
		Rule: rule, Device: d, Reports: toggle.Reports,
		Why: fmt.Sprintf("the report descriptor declares a mute lamp, in output report 0x%02x: programs set it to answer a press", f.ReportID),
		Doubts: []string{
			"try this first: start a call, mute in the program's window, and see whether 'sidetone status' follows; if the state stays" +
				" unknown, the device does not let its lamp be read back",
			"the product needs 'allow_write: true', since reading a lamp back is a request to the device",
		},
	}, true
}

// pressOf returns the conditions that a press of a toggle meets; nil: bytes do not say.
func (l *analysis) pressOf(c candidate) []catalogue.ByteTest {
	var tests []catalogue.ByteTest
	switch r, u := c.Rule.HIDReport, c.Rule.HIDUsage; {
	case u != nil:
		fields := u.Fields(hid.Describe(c.Device))
		if len(fields) == 0 || fields[0].Array || fields[0].Size > 8 {
			return nil
		}
		f := fields[0]
		if f.ReportID != 0 {
			tests = append(tests, catalogue.ByteTest{Byte: 0, Eq: new(catalogue.Byte(f.ReportID))})
		}
		mask := f.MaskAt(f.Offset / 8)
		lit := catalogue.Byte(1 << (f.Offset % 8))
		return append(tests, catalogue.ByteTest{Byte: f.Offset / 8, Mask: new(catalogue.Byte(mask)), Eq: &lit})
	case r.ReportID != nil:
		tests = append(tests, catalogue.ByteTest{Byte: 0, Eq: r.ReportID})
		fallthrough
	default:
		tests = append(tests, r.When...)
		if v := r.Value; v != nil && len(v.On) == 0 {
			test := catalogue.ByteTest{Byte: v.Byte, Mask: v.Mask, Eq: new(catalogue.Byte(maskOf(v.Mask)))}
			if v.Invert {
				test.Eq = new(catalogue.Byte(0))
			}
			tests = append(tests, test)
		} else if v != nil {
			tests = append(tests, catalogue.ByteTest{Byte: v.Byte, Mask: v.Mask, In: v.On})
		}
		return tests
	}
}
