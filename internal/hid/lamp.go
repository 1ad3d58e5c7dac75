package hid

import (
	"slices"

	"sidetone/internal/health"
	"sidetone/internal/hid/descriptor"
)

// The mute button and the mute lamp of a headset (HID Usage Tables, sections 11 and 14).
const (
	pageLED        = 0x08
	usageLED       = 0x09 // Mute
	pageTelephony  = 0x0b
	usagePhoneMute = 0x2f
)

// descriptorNote returns why the descriptor and the rule keep the state from being known, or make it doubtful.
func (s *sensor) descriptorNote(desc *descriptor.Descriptor) health.Code {
	has := func(form descriptor.Control) bool {
		return slices.ContainsFunc(s.fields, func(f descriptor.Field) bool { return s.Usage.form(f) == form })
	}
	switch {
	case has(""):
		return health.HIDControlIllegal
	case s.Anchor == nil && has(descriptor.Momentary):
		return health.HIDAnchorMissing
	case s.Anchor != nil && !s.Anchor.readsLamp() && s.countsMuteRequests(desc) && len(desc.Find(descriptor.Output, pageLED, usageLED)) > 0:
		return health.HIDMuteLamp
	}
	return ""
}

// countsMuteRequests reports whether a toggle counts the presses of Phone Mute, which may be requests that programs answer by
// setting the mute lamp.
func (s *sensor) countsMuteRequests(desc *descriptor.Descriptor) bool {
	switch {
	case desc == nil:
		return false
	case s.Usage != nil:
		return s.Usage.Page == pageTelephony && s.Usage.Usage == usagePhoneMute &&
			slices.ContainsFunc(s.fields, func(f descriptor.Field) bool { return s.Usage.form(f) == descriptor.Momentary })
	case s.Report != nil:
		return s.Report.Toggle && slices.ContainsFunc(desc.Find(descriptor.Input, pageTelephony, usagePhoneMute), s.Report.reads)
	}
	return false
}

// readsLamp reports whether a query finds out what programs have set.
func (a *Anchor) readsLamp() bool {
	return slices.ContainsFunc(a.Sources, func(r Rule) bool { return r.Query != nil && (r.Query.Poll != 0 || len(r.Query.AskOn) > 0) })
}

// reads reports whether the field matters to the rule: for a press, or for the reports that it looks at.
func (r *InputReport) reads(f descriptor.Field) bool {
	if r.ID != nil && *r.ID != f.ReportID {
		return false
	}
	if r.Value == nil && len(r.When) == 0 {
		return true
	}
	return r.Value != nil && differs(r.Value.Means, f.MaskAt(r.Value.Byte)) ||
		slices.ContainsFunc(r.When, func(t Test) bool { return differs(t.Fits, f.MaskAt(t.Byte)) })
}

// differs reports whether the bits of a mask make a difference in a table by byte.
func differs[T comparable](table [256]T, mask byte) bool {
	for b := range table {
		if table[b] != table[byte(b)&^mask] {
			return true
		}
	}
	return false
}
