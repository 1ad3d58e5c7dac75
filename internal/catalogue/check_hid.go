package catalogue

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

func (f *faults) hidUsage(path string, r HIDUsage, u usage) {
	f.usbInterface(path, r.Interface)
	f.hex16(path+".page", r.Page)
	f.hex16(path+".usage", r.Usage)
	f.milliseconds(path+".debounce_ms", r.DebounceMS, 0, 5000)
	f.hidUsageRead(path, r, u)
	if r.Read != "" {
		return
	}
	if r.Kind == HIDToggle && r.Invert {
		f.add(path+".invert", "", "a toggle has no meaning that could be inverted")
	}
	switch {
	case r.Anchor != nil && (r.Kind == HIDLevel || r.Kind == HIDButtons):
		f.add(path+".anchor", "", "only a toggle has an anchor")
	case r.Anchor != nil:
		f.anchor(path+".anchor", *r.Anchor, u)
	case r.Kind == HIDToggle:
		f.add(path, "see 'anchor'", "a toggle without an anchor is never known")
	}
	f.muteRequest(path, r)
}

func (f *faults) hidReport(path string, r HIDReport, u usage) {
	f.usbInterface(path, r.Interface)
	if r.ReportID != nil && *r.ReportID == 0 {
		f.add(path+".report_id", "leave it out where reports have no number", "no report has the number 0")
	}
	f.byteTests(path+".when", r.When)
	f.milliseconds(path+".debounce_ms", r.DebounceMS, 0, 5000)
	f.milliseconds(path+".max_age_ms", r.MaxAgeMS, 100, 600000)
	if r.MaxAgeMS != 0 && r.Kind == HIDToggle {
		f.add(path+".max_age_ms", "", "a press is not repeated: only a level is")
	}
	if r.Value != nil {
		f.byteValue(path+".value", *r.Value)
		if r.Kind != HIDToggle {
			f.muteValue(path+".value", *r.Value, u)
		} else if r.Value.Valid != nil {
			f.add(path+".value.valid", "when", "a toggle has no state that could be invalid")
		}
		if r.anyReport() {
			f.warn(path, "report_id, or when", "it would match any report, so it is not applied to devices that number their reports")
		}
	}
	f.hidReportKind(path, r, u)
}

// hidReportKind checks what a level or a toggle needs.
func (f *faults) hidReportKind(path string, r HIDReport, u usage) {
	switch r.Kind {
	case HIDToggle:
		if r.Anchor == nil {
			f.add(path, "see 'anchor'", "a toggle without an anchor is never known")
			return
		}
		if r.Value == nil && r.ReportID == nil && len(r.When) == 0 {
			f.add(path, "report_id, when or value", "every report would count as a press")
		}
		f.anchor(path+".anchor", *r.Anchor, u)
	case HIDLevel, "":
		if r.Value == nil {
			f.add(path, "value: where the state is in the report", "a level without value")
		}
		if r.Anchor != nil {
			f.add(path+".anchor", "", "only a toggle has an anchor")
		}
	default:
		f.add(path+".kind", "level or toggle", "a report has no kind %s", r.Kind)
	}
}

func (f *faults) anchor(path string, a Anchor, u usage) {
	if a.Start == nil && a.LinkUp == nil && a.HIDReport == nil && a.HIDQuery == nil {
		f.add(path, "start, hid_report or hid_query", "an anchor that says nothing")
	}
	switch {
	case a.LinkUp == nil:
	case u.field == linkField:
		f.add(path+".link_up", "", "a source of link_state cannot wait for link_state")
	case !u.link:
		f.add(path+".link_up", "start, if it is the state after plugging in", "the product has no link_state")
	}
	f.start(path, a, u)
	if a.HIDReport != nil {
		if a.HIDReport.Kind == HIDToggle {
			f.add(path+".hid_report.kind", "", "a toggle cannot be the anchor of a toggle")
			return
		}
		if a.HIDReport.MaxAgeMS != 0 {
			f.add(path+".hid_report.max_age_ms", "leave it out", "from its report on the presses count, so it does not get old")
		}
		f.hidReport(path+".hid_report", *a.HIDReport, u)
	}
	if a.HIDQuery != nil {
		f.hidQuery(path+".hid_query", *a.HIDQuery, u)
	}
}

func (f *faults) hidQuery(path string, q HIDQuery, u usage) {
	f.mayWrite(path, u)
	f.usbInterface(path, q.Interface)
	f.byteTests(path+".expect", q.Expect)
	f.byteTests(path+".ask_on", q.AskOn)
	f.byteValue(path+".value", q.Value)
	f.muteValue(path+".value", q.Value, u)
	f.milliseconds(path+".timeout_ms", q.TimeoutMS, 10, 10000)
	f.queryExchange(path, q)
	for i, o := range q.Output {
		if len(o) == 0 {
			f.add(fmt.Sprintf("%s.output[%d]", path, i), "", "empty request")
		}
	}
	if len(q.Output) > 0 && len(q.Expect) == 0 {
		f.add(path, "expect", "any report of the device would count as the answer")
	}
	distinct(f, path+".at", q.At, "moments")
}

func (f *faults) hidPP(path string, p HIDPP, u usage) {
	f.mayWrite(path, u)
	f.usbInterface(path, p.Interface)
	f.byteTests(path+".ask_on", p.AskOn)
	f.byteValue(path+".value", p.Value)
	f.muteValue(path+".value", p.Value, u)
	f.milliseconds(path+".timeout_ms", p.TimeoutMS, 10, 10000)
	if !hexShape.MatchString(p.Feature) {
		f.add(path+".feature", "four hex digits such as \"0601\"", "not a feature id")
	}
	if p.Read == nil && len(p.Event) == 0 {
		f.add(path, "read, event or both", "nothing would ever tell the state")
	}
	f.number(path+".read", p.Read, 15, "there is no such function or event")
	for i := range p.Event {
		f.within(path+".event", p.Event[i], 0, 15, "there is no such function or event")
	}
	distinct(f, path+".event", p.Event, "events")
}

func (f *faults) mayWrite(path string, u usage) {
	if !u.allowWrite {
		f.add(path, "add allow_write: true to the product", "this source writes to the device")
	}
}

func (f *faults) usbInterface(path string, n *int) {
	f.number(path+".interface", n, 255, "not the number of an interface")
}

// number checks a number from 0 to most, which may be left out.
func (f *faults) number(path string, n *int, most int, problem string) {
	if n != nil {
		f.within(path, *n, 0, most, problem)
	}
}

func (f *faults) within(path string, n, least, most int, problem string) {
	if n < least || n > most {
		f.add(path, fmt.Sprintf("%d to %d", least, most), "%s", problem)
	}
}

func (f *faults) hex16(path, s string) {
	if s == "" {
		return
	}
	if _, err := strconv.ParseUint(s, 16, 16); err != nil {
		f.add(path, "hex digits such as \"2f\"", "not a number of 16 bits")
	}
}

// milliseconds checks a duration; 0 means the default.
func (f *faults) milliseconds(path string, ms, least, most int) {
	if ms != 0 {
		f.within(path, ms, least, most, "out of range")
	}
}

const maxByte = 8191 // reports are at most 8 KiB

func (f *faults) byteTests(path string, tests []ByteTest) {
	for i, t := range tests {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.byteRef(at, t.Byte, t.Mask)
		if n := countTrue(t.Eq != nil, t.In != nil, t.Min != nil || t.Max != nil); n != 1 {
			f.add(at, "one of eq, in, or min and max", "want exactly one comparison, found %d", n)
		}
		if t.Eq != nil {
			f.masked(at+".eq", t.Mask, *t.Eq)
		}
		f.masked(at+".in", t.Mask, t.In...)
		f.notEmpty(at+".in", t.In)
		if t.Min != nil && t.Max != nil && *t.Min > *t.Max {
			f.add(at, "", "min is greater than max")
		}
	}
}

func (f *faults) byteValue(path string, v ByteValue) {
	f.byteRef(path, v.Byte, v.Mask)
	f.notEmpty(path+".on", v.On)
	f.notEmpty(path+".off", v.Off)
	f.masked(path+".on", v.Mask, v.On...)
	f.masked(path+".off", v.Mask, v.Off...)
	f.byteTests(path+".valid", v.Valid)
	for i, b := range v.Off {
		if slices.Contains(v.On, b) {
			f.add(fmt.Sprintf("%s.off[%d]", path, i), "", "it is listed in on, too")
		}
	}
}

func countTrue(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

func (f *faults) notEmpty(path string, list []Byte) {
	if list != nil && len(list) == 0 {
		f.add(path, "", "an empty list never fits")
	}
}

func (f *faults) byteRef(path string, at int, mask *Byte) {
	f.within(path+".byte", at, 0, maxByte, "no report has such a byte")
	if mask != nil && *mask == 0 {
		f.add(path+".mask", "", "a mask with no bit set")
	}
}

// masked finds values that the masked byte can never have.
func (f *faults) masked(path string, mask *Byte, values ...Byte) {
	for _, b := range values {
		if mask != nil && b&^*mask != 0 {
			f.add(path, "", "0x%02x has bits that the mask 0x%02x leaves out", int(b), int(*mask))
		}
	}
}

func (f *faults) traces(path string, list []string) {
	for i, name := range list {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			f.add(fmt.Sprintf("%s[%d]", path, i), "a path below the catalogue's folder", "not a path relative to the catalogue")
		}
	}
}

// reportsChanges reports whether the device sends each new state by itself. An unknown toggle, or a state derived from
// an unknown one, stays unknown when something changes, so the next source decides.
func (k SourceKind) reportsChanges() bool {
	switch {
	case k.HIDUsage != nil:
		return k.HIDUsage.Read == "" && (k.HIDUsage.Kind == HIDLevel || k.HIDUsage.Kind == HIDButtons)
	case k.HIDReport != nil:
		return k.HIDReport.Kind != HIDToggle && k.HIDReport.MaxAgeMS == 0
	case k.HIDPP != nil:
		return len(k.HIDPP.Event) > 0
	}
	return false
}

// neverRefreshed reports whether k asks the device once and nothing makes it ask again.
func (k SourceKind) neverRefreshed() bool {
	switch {
	case k.readsLastOutput(): // the device sends nothing when a program sets it
		return k.pollMS() == 0
	case k.HIDQuery != nil:
		return len(k.HIDQuery.AskOn) == 0 && k.HIDQuery.PollMS == 0
	case k.HIDUsage != nil:
		return k.HIDUsage.Read != "" && len(k.HIDUsage.AskOnUsage) == 0 && k.HIDUsage.PollMS == 0
	case k.HIDPP != nil:
		return len(k.HIDPP.Event) == 0 && len(k.HIDPP.AskOn) == 0
	}
	return false
}

// readsLastOutput reports whether k reads back what programs have set last.
func (k SourceKind) readsLastOutput() bool {
	return k.HIDQuery != nil && len(k.HIDQuery.LastOutput) > 0 || k.HIDUsage != nil && k.HIDUsage.Read == HIDReadOutput
}

func (k SourceKind) pollMS() int {
	switch {
	case k.HIDQuery != nil:
		return k.HIDQuery.PollMS
	case k.HIDUsage != nil:
		return k.HIDUsage.PollMS
	}
	return 0
}

// staleness finds a state that is queried once and would never change again. If covered, earlier sources report each
// change, and decide then.
func (f *faults) staleness(path string, k SourceKind, covered bool) {
	const stale = "nothing tells when the state changes, so the first answer would count forever"
	const silent = "if the device reports nothing: poll_ms, or no rule, and push the state"
	switch {
	case covered:
	case k.readsLastOutput() && k.neverRefreshed():
		f.add(path+"."+k.Via(), "poll_ms, or a level in the device's reports before it",
			"nothing tells when another program sets it, so the first answer would count forever")
	case k.HIDQuery != nil && k.neverRefreshed():
		f.add(path+".hid_query",
			"ask_on, or a level in the device's reports before it; behind a toggle, make it the toggle's anchor; "+silent, stale)
	case k.HIDUsage != nil && k.neverRefreshed():
		f.add(path+".hid_usage", "ask_on_usage, or a level in the device's reports before it; "+silent, stale)
	case k.HIDPP != nil && k.HIDPP.Read != nil && k.neverRefreshed():
		f.add(path+".hidpp", "event, ask_on, or a level in the device's reports before it", stale)
	case k.Derive != nil:
		for at, term := range k.Derive.Terms(path) {
			f.staleness(at, term, false)
		}
	}
}
