package catalogue

import (
	"fmt"
	"strings"
	"testing"

	"sidetone/internal/devices"
	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

func TestCheckHIDFaults(t *testing.T) {
	const (
		at   = "$.products[0].sources[0]"
		link = "$.products[0].link_state[0]"
	)
	start := &Anchor{Start: ptr(false)}
	value := &ByteValue{Byte: 1}
	usage := func(u HIDUsage) SourceKind { return SourceKind{HIDUsage: &u} }
	report := func(r HIDReport) SourceKind { return SourceKind{HIDReport: &r} }
	query := func(q HIDQuery) SourceKind { return SourceKind{HIDQuery: &q} }
	level := report(HIDReport{ReportID: ptr(Byte(1)), Value: value})
	again := []ByteTest{{Eq: ptr(Byte(1))}}
	for name, c := range map[string]struct {
		kind SourceKind
		want []Fault
	}{
		"usage": {usage(HIDUsage{}), nil},
		"usage out of range": {usage(HIDUsage{Interface: ptr(256), Page: "x", Usage: "12345", DebounceMS: 5001}), []Fault{
			{at + ".hid_usage.interface", "not the number of an interface", "0 to 255"},
			{at + ".hid_usage.page", "not a number of 16 bits", `hex digits such as "2f"`},
			{at + ".hid_usage.usage", "not a number of 16 bits", `hex digits such as "2f"`},
			{at + ".hid_usage.debounce_ms", "out of range", "0 to 5000"},
		}},
		"usage, toggle without an anchor": {usage(HIDUsage{Kind: HIDToggle}), []Fault{
			{at + ".hid_usage", "a toggle without an anchor is never known", "see 'anchor'"},
		}},
		"usage, toggle inverted": {usage(HIDUsage{Kind: HIDToggle, Invert: true, Anchor: start}), []Fault{
			{at + ".hid_usage.invert", "a toggle has no meaning that could be inverted", ""},
		}},
		"usage, level with an anchor": {usage(HIDUsage{Kind: HIDLevel, Anchor: start}), []Fault{
			{at + ".hid_usage.anchor", "only a toggle has an anchor", ""},
		}},
		"usage, buttons with an anchor": {usage(HIDUsage{Kind: HIDButtons, Anchor: start}), []Fault{
			{at + ".hid_usage.anchor", "only a toggle has an anchor", ""},
		}},
		"usage, auto with an anchor": {usage(HIDUsage{Anchor: start}), nil},
		"empty anchor": {usage(HIDUsage{Anchor: &Anchor{}}), []Fault{
			{at + ".hid_usage.anchor", "an anchor that says nothing", "start, hid_report or hid_query"},
		}},
		"toggle as an anchor": {usage(HIDUsage{Anchor: &Anchor{HIDReport: &HIDReport{Kind: HIDToggle, Anchor: start}}}), []Fault{
			{at + ".hid_usage.anchor.hid_report.kind", "a toggle cannot be the anchor of a toggle", ""},
		}},
		"anchor with faults": {usage(HIDUsage{Anchor: &Anchor{HIDReport: &HIDReport{}, HIDQuery: &HIDQuery{}}}), []Fault{
			{at + ".hid_usage.anchor.hid_report", "a level without value", "value: where the state is in the report"},
			{at + ".hid_usage.anchor.hid_query", "want exactly one of output, feature, input, last_output and steps, found 0", ""},
		}},
		"report": {level, nil},
		"report, level": {report(HIDReport{Interface: ptr(-1), ReportID: ptr(Byte(0)), Kind: HIDLevel, DebounceMS: -1, Anchor: start}), []Fault{
			{at + ".hid_report.interface", "not the number of an interface", "0 to 255"},
			{at + ".hid_report.report_id", "no report has the number 0", "leave it out where reports have no number"},
			{at + ".hid_report.debounce_ms", "out of range", "0 to 5000"},
			{at + ".hid_report", "a level without value", "value: where the state is in the report"},
			{at + ".hid_report.anchor", "only a toggle has an anchor", ""},
		}},
		"report, toggle without an anchor": {report(HIDReport{Kind: HIDToggle, Value: value}), []Fault{
			{at + ".hid_report", "a toggle without an anchor is never known", "see 'anchor'"},
		}},
		"report, every one a press": {report(HIDReport{Kind: HIDToggle, Anchor: start}), []Fault{
			{at + ".hid_report", "every report would count as a press", "report_id, when or value"},
		}},
		"report, auto": {report(HIDReport{Kind: HIDAuto, Value: value}), []Fault{
			{at + ".hid_report.kind", "a report has no kind auto", "level or toggle"},
		}},
		"report, buttons": {report(HIDReport{Kind: HIDButtons, Value: value}), []Fault{
			{at + ".hid_report.kind", "a report has no kind buttons", "level or toggle"},
		}},
		"conditions": {report(HIDReport{Value: value, When: []ByteTest{
			{Byte: -1, Eq: ptr(Byte(1))},
			{Byte: 8192, Mask: ptr(Byte(0)), Min: ptr(Byte(0))},
			{Byte: 1},
			{Byte: 1, Eq: ptr(Byte(1)), Max: ptr(Byte(1))},
			{Byte: 1, In: []Byte{}},
			{Byte: 1, Mask: ptr(Byte(0x0f)), Eq: ptr(Byte(0x10))},
			{Byte: 1, Mask: ptr(Byte(0x0f)), In: []Byte{1, 0xff}},
			{Byte: 1, Min: ptr(Byte(3)), Max: ptr(Byte(2))},
		}}), []Fault{
			{at + ".hid_report.when[0].byte", "no report has such a byte", "0 to 8191"},
			{at + ".hid_report.when[1].byte", "no report has such a byte", "0 to 8191"},
			{at + ".hid_report.when[1].mask", "a mask with no bit set", ""},
			{at + ".hid_report.when[2]", "want exactly one comparison, found 0", "one of eq, in, or min and max"},
			{at + ".hid_report.when[3]", "want exactly one comparison, found 2", "one of eq, in, or min and max"},
			{at + ".hid_report.when[4].in", "an empty list never fits", ""},
			{at + ".hid_report.when[5].eq", "0x10 has bits that the mask 0x0f leaves out", ""},
			{at + ".hid_report.when[6].in", "0xff has bits that the mask 0x0f leaves out", ""},
			{at + ".hid_report.when[7]", "min is greater than max", ""},
		}},
		"value": {report(HIDReport{Value: &ByteValue{Byte: 9000, Mask: ptr(Byte(3)), On: []Byte{1, 4}, Off: []Byte{2, 1}}}), []Fault{
			{at + ".hid_report.value.byte", "no report has such a byte", "0 to 8191"},
			{at + ".hid_report.value.on", "0x04 has bits that the mask 0x03 leaves out", ""},
			{at + ".hid_report.value.off[1]", "it is listed in on, too", ""},
		}},
		"valid": {report(HIDReport{ReportID: ptr(Byte(1)), Value: &ByteValue{Mask: ptr(Byte(1)), Valid: []ByteTest{{Byte: 1, Eq: ptr(Byte(1))}, {Byte: 9000}}}}), []Fault{
			{at + ".hid_report.value.valid[1].byte", "no report has such a byte", "0 to 8191"},
			{at + ".hid_report.value.valid[1]", "want exactly one comparison, found 0", "one of eq, in, or min and max"},
		}},
		"valid of a toggle": {report(HIDReport{ReportID: ptr(Byte(1)), Kind: HIDToggle, Anchor: start, Value: &ByteValue{Byte: 1, Valid: again}}), []Fault{
			{at + ".hid_report.value.valid", "a toggle has no state that could be invalid", "when"},
		}},
		"value of empty lists": {report(HIDReport{Value: &ByteValue{On: []Byte{}, Off: []Byte{}}}), []Fault{
			{at + ".hid_report.value.on", "an empty list never fits", ""},
			{at + ".hid_report.value.off", "an empty list never fits", ""},
		}},
		"query": {query(HIDQuery{Interface: ptr(256), Feature: hid.Bytes{1}, Output: []hid.Bytes{{}}, TimeoutMS: 9, At: []hid.Moment{}, AskOn: []ByteTest{{}}}), []Fault{
			{at + ".hid_query.interface", "not the number of an interface", "0 to 255"},
			{at + ".hid_query.ask_on[0]", "want exactly one comparison, found 0", "one of eq, in, or min and max"},
			{at + ".hid_query.timeout_ms", "out of range", "10 to 10000"},
			{at + ".hid_query", "want exactly one of output, feature, input, last_output and steps, found 2", ""},
			{at + ".hid_query.output[0]", "empty request", ""},
			{at + ".hid_query", "any report of the device would count as the answer", "expect"},
			{at + ".hid_query.at", "empty list of moments", "leave it out for all moments"},
		}},
		"query of a feature needs no expect": {query(HIDQuery{Feature: hid.Bytes{1}, At: []hid.Moment{hid.AtAttach, hid.AtResume, hid.AtAttach}, AskOn: again}), []Fault{
			{at + ".hid_query.at[2]", "attach is listed twice", ""},
		}},
		"query, what is read": {query(HIDQuery{Input: hid.Bytes{1}, AskOn: again, DelayMS: 30, RetryOn: again}), nil},
		"query, readings": {query(HIDQuery{
			Feature: hid.Bytes{1}, Input: hid.Bytes{1, 2}, LastOutput: hid.Bytes{0, 0}, AskOn: again, DelayMS: 5001, PollMS: 999, RetryOn: []ByteTest{{}}, TimeoutMS: 6000,
		}), []Fault{
			{at + ".hid_query", "want exactly one of output, feature, input, last_output and steps, found 3", ""},
			{at + ".hid_query.input", "a report that is only read takes no data", "its number alone, 00 where reports have none"},
			{at + ".hid_query.last_output", "a report that is only read takes no data", "its number alone, 00 where reports have none"},
			{at + ".hid_query.retry_on[0]", "want exactly one comparison, found 0", "one of eq, in, or min and max"},
			{at + ".hid_query.delay_ms", "out of range", "1 to 5000"},
			{at + ".hid_query.poll_ms", "out of range", "1000 to 60000"},
		}},
		"query, output with a delay": {query(HIDQuery{Output: []hid.Bytes{{1}}, Expect: again, AskOn: again, DelayMS: 30, RetryOn: again}), []Fault{
			{at + ".hid_query.delay_ms", "the answer to output comes by itself", "steps with pause_ms"},
		}},
		"query, output read again": {query(HIDQuery{Output: []hid.Bytes{{1}}, Expect: again, AskOn: again, RetryOn: again}), []Fault{
			{at + ".hid_query.retry_on", "the answer to output comes by itself", "steps with retry_on"},
		}},
		"query, read again at once": {query(HIDQuery{Feature: hid.Bytes{1}, AskOn: again, RetryOn: again}), []Fault{
			{at + ".hid_query.retry_on", "it would be read again without a pause", "delay_ms"},
		}},
		"query, read again too late": {query(HIDQuery{Feature: hid.Bytes{1}, AskOn: again, RetryOn: again, DelayMS: 1000}), []Fault{
			{at + ".hid_query.delay_ms", "timeout_ms would be over before the report is read again", "less than timeout_ms"},
		}},
		"query, asked again and again": {query(HIDQuery{Feature: hid.Bytes{1}, AskOn: again, PollMS: 1000}), []Fault{
			{at + ".hid_query.poll_ms", "out of range", "2000 to 60000"},
		}},
		"query, polled": {query(HIDQuery{Feature: hid.Bytes{1}, PollMS: 2000}), nil},
		"query, a lamp": {query(HIDQuery{LastOutput: hid.Bytes{1}, PollMS: 1000}), nil},
		"query, a lamp that nobody looks at": {query(HIDQuery{LastOutput: hid.Bytes{1}, AskOn: again}), []Fault{
			{at + ".hid_query", "nothing tells when another program sets it, so the first answer would count forever", "poll_ms, or a level in the device's reports before it"},
		}},
		"one value of two": {report(HIDReport{ReportID: ptr(Byte(1)), Value: &ByteValue{Off: []Byte{0}}}), []Fault{
			{at + ".hid_report.value", "hardware_mute does not guess what other values mean", "on and off, both with the values that the device sends"},
		}},
		"values of several bits": {query(HIDQuery{Feature: hid.Bytes{1}, AskOn: again, Value: ByteValue{Mask: ptr(Byte(3))}}), []Fault{
			{at + ".hid_query.value", "the rule does not say which values mean muted", "on and off, both with the values that the device sends"},
		}},
		"one bit has two values": {report(HIDReport{ReportID: ptr(Byte(1)), Value: &ByteValue{Mask: ptr(Byte(0x80)), On: []Byte{0x80}}}), nil},
		"a press has any value":  {report(HIDReport{ReportID: ptr(Byte(1)), Kind: HIDToggle, Anchor: start, Value: &ByteValue{On: []Byte{3}}}), nil},
		"link_up without a link": {usage(HIDUsage{Anchor: &Anchor{LinkUp: ptr(false)}}), []Fault{
			{at + ".hid_usage.anchor.link_up", "the product has no link_state", "start, if it is the state after plugging in"},
		}},
		"hidpp that is asked again": {SourceKind{HIDPP: &HIDPP{Feature: "0601", Read: ptr(1), AskOn: again}}, nil},
		"hidpp with a bad condition": {SourceKind{HIDPP: &HIDPP{Feature: "0601", Event: Events{1}, AskOn: []ByteTest{{}}}}, []Fault{
			{at + ".hidpp.ask_on[0]", "want exactly one comparison, found 0", "one of eq, in, or min and max"},
		}},
		"hidpp": {SourceKind{HIDPP: &HIDPP{Interface: ptr(-1), Feature: "601", TimeoutMS: 10001, Value: ByteValue{Mask: ptr(Byte(0))}}}, []Fault{
			{at + ".hidpp.interface", "not the number of an interface", "0 to 255"},
			{at + ".hidpp.value.mask", "a mask with no bit set", ""},
			{at + ".hidpp.timeout_ms", "out of range", "10 to 10000"},
			{at + ".hidpp.feature", "not a feature id", `four hex digits such as "0601"`},
			{at + ".hidpp", "nothing would ever tell the state", "read, event or both"},
		}},
		"hidpp functions": {SourceKind{HIDPP: &HIDPP{Feature: "0601", Read: ptr(16), Event: Events{-1}}}, []Fault{
			{at + ".hidpp.read", "there is no such function or event", "0 to 15"},
			{at + ".hidpp.event", "there is no such function or event", "0 to 15"},
		}},
		"derive of nothing":  {SourceKind{Derive: &Derive{}}, []Fault{{at + ".derive", "want either or, or and", ""}}},
		"derive of both":     {SourceKind{Derive: &Derive{Or: []SourceKind{level, level}, And: []SourceKind{level, level}}}, []Fault{{at + ".derive", "want either or, or and", ""}}},
		"derive of one":      {or(level), []Fault{{at + ".derive", "want two sources or more to derive from", ""}}},
		"derive of an empty": {SourceKind{Derive: &Derive{And: []SourceKind{}}}, []Fault{{at + ".derive", "want two sources or more to derive from", ""}}},
		"derive of faults": {SourceKind{Derive: &Derive{And: []SourceKind{level, {}, {Derive: &Derive{Or: []SourceKind{{Const: ptr(true)}, usage(HIDUsage{Page: "g"})}}}}}}, []Fault{
			{at + ".derive.and[1]", "want exactly one kind of source, found 0", "one of os_endpoint_mute, os_effects, alsa_ctl, hid_usage, hid_report, hid_query, hidpp, derive, const"},
			{at + ".derive.and[2].derive.or[0].const", "hardware_mute is never constant", ""},
			{at + ".derive.and[2].derive.or[1].hid_usage.page", "not a number of 16 bits", `hex digits such as "2f"`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Product{ID: "p", Links: []Link{usbLink("0700")}, AllowWrite: true, Sources: []SourceRule{muteOf(c.kind)}}
			require.Equal(t, c.want, catalogueOf(p).Check())
		})
	}

	notThere := "this source cannot tell whether the product is connected"
	instead := "hid_report, hid_query, hid_usage, hidpp, alsa_ctl or derive"
	mixer := SourceKind{ALSACtl: &ALSACtl{Name: "Jack"}}
	mute := []SourceRule{muteOf(level)}
	for name, c := range map[string]struct {
		product Product
		want    []Fault
	}{
		"no writing": {Product{Sources: []SourceRule{
			muteOf(query(HIDQuery{Feature: hid.Bytes{1}, AskOn: again})),
			{Field: devices.NoiseSuppression, SourceKind: SourceKind{HIDPP: &HIDPP{Feature: "0903", Read: ptr(0), Event: Events{0}}}},
			{Field: devices.EchoCancellation, SourceKind: usage(HIDUsage{Anchor: &Anchor{HIDQuery: &HIDQuery{Feature: hid.Bytes{1}}}})},
		}}, []Fault{
			{at + ".hid_query", "this source writes to the device", "add allow_write: true to the product"},
			{"$.products[0].sources[1].hidpp", "this source writes to the device", "add allow_write: true to the product"},
			{"$.products[0].sources[2].hid_usage.anchor.hid_query", "this source writes to the device", "add allow_write: true to the product"},
		}},
		"no hardware": {Product{Links: []Link{{Kind: LinkJack, NameRegex: "Front"}}, Sources: mute}, []Fault{
			{at + ".hid_report", "no link has vid and pids, so no HID device belongs to this product", "a link of kind usb, dongle or bluetooth with them"},
		}},
		"no hardware for an anchor": {Product{Links: []Link{{Kind: LinkVirtual, NameRegex: "Front"}}, Sources: []SourceRule{
			muteOf(or(usage(HIDUsage{Anchor: &Anchor{HIDReport: &HIDReport{Value: value}}}), mixer)),
		}}, []Fault{
			{at + ".derive.or[0].hid_usage", "no link has vid and pids, so no HID device belongs to this product", "a link of kind usb, dongle or bluetooth with them"},
		}},
		"a query hides what is newer": {Product{AllowWrite: true, Sources: []SourceRule{
			{Field: devices.HardwareMute, OS: []devices.OS{devices.Windows}, SourceKind: query(HIDQuery{Feature: hid.Bytes{1}, AskOn: again})},
			{Field: devices.HardwareMute, OS: []devices.OS{devices.Linux}, SourceKind: level},
			muteOf(or(level, usage(HIDUsage{}))),
			muteOf(query(HIDQuery{Feature: hid.Bytes{2}, AskOn: again})),
			muteOf(SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}),
		}}, []Fault{
			{"$.products[0].sources[2]", "sources[0] decides before it, with a state that may be outdated", "put hid_query behind it"},
		}},
		"link":             {Product{LinkState: []LinkRule{{SourceKind: level}, {SourceKind: usage(HIDUsage{})}}}, nil},
		"link by a mixer":  {Product{LinkState: []LinkRule{{SourceKind: mixer}}}, nil},
		"link twice":       {Product{LinkState: []LinkRule{{OS: []devices.OS{devices.Linux}, SourceKind: level}, {SourceKind: level}, {OS: []devices.OS{devices.Windows}, SourceKind: level}}}, []Fault{{"$.products[0].link_state[2]", "unreachable source", "link_state[1] decides before it"}}},
		"link of the mute": {Product{LinkState: []LinkRule{{OS: []devices.OS{}, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}}}}, []Fault{{link + ".os", "empty list of systems", "leave it out for all systems"}, {link, notThere, instead}}},
		"link of effects":  {Product{LinkState: []LinkRule{{SourceKind: SourceKind{OSEffects: &OSEffects{}}}}}, []Fault{{link, notThere, instead}}},
		"fixed link":       {Product{LinkState: []LinkRule{{SourceKind: SourceKind{Const: ptr(true)}}}}, []Fault{{link, notThere, instead}}},
		"fixed part of a link": {Product{LinkState: []LinkRule{{SourceKind: SourceKind{Derive: &Derive{Or: []SourceKind{level, {Const: ptr(true)}}}}}}}, []Fault{
			{link + ".derive.or[1]", notThere, instead},
		}},
		"link by a mixer, flags by HID": {Product{LinkState: []LinkRule{{SourceKind: mixer}}, Sources: mute}, []Fault{
			{link + ".alsa_ctl", "the product's HID sources would not notice a change, and would keep their earlier states", "hid_report, hid_query, hid_usage or hidpp"},
		}},
		"link_up": {Product{LinkState: []LinkRule{{SourceKind: level}}, Sources: []SourceRule{muteOf(usage(HIDUsage{Anchor: &Anchor{LinkUp: ptr(true)}}))}}, nil},
		"link by its own toggle": {Product{LinkState: []LinkRule{{SourceKind: usage(HIDUsage{Kind: HIDToggle, Anchor: &Anchor{LinkUp: ptr(true)}})}}}, []Fault{
			{link + ".hid_usage.anchor.link_up", "a source of link_state cannot wait for link_state", ""},
		}},
		"one value of two, of another flag": {Product{Sources: []SourceRule{{Field: devices.NoiseSuppression, SourceKind: report(HIDReport{ReportID: ptr(Byte(1)), Value: &ByteValue{On: []Byte{1}}})}}}, nil},
		"a lamp that nobody looks at before a toggle": {Product{AllowWrite: true, Sources: []SourceRule{
			muteOf(query(HIDQuery{LastOutput: hid.Bytes{1}, PollMS: 1000})), muteOf(usage(HIDUsage{})),
		}}, nil},
		"link without a source": {Product{LinkState: []LinkRule{{}}}, []Fault{
			{link, "want exactly one kind of source, found 0", "one of os_endpoint_mute, os_effects, alsa_ctl, hid_usage, hid_report, hid_query, hidpp, derive, const"},
		}},
		"traces": {Product{Traces: []string{"a.jsonl", "/etc/a", "../a", "", "b/c.jsonl"}}, []Fault{
			{"$.products[0].traces[1]", "not a path relative to the catalogue", "a path below the catalogue's folder"},
			{"$.products[0].traces[2]", "not a path relative to the catalogue", "a path below the catalogue's folder"},
			{"$.products[0].traces[3]", "not a path relative to the catalogue", "a path below the catalogue's folder"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.product
			p.ID = "p"
			if p.Links == nil {
				p.Links = []Link{usbLink("0700")}
			}
			require.Equal(t, c.want, catalogueOf(p).Check())
		})
	}
}

// A state that is only asked for is refused, unless something before it in the list tells each change.
func TestCheckStaleStates(t *testing.T) {
	const stale = "nothing tells when the state changes, so the first answer would count forever"
	query := SourceKind{HIDQuery: &HIDQuery{Feature: hid.Bytes{1}}}
	asked := SourceKind{HIDQuery: &HIDQuery{Feature: hid.Bytes{1}, AskOn: []ByteTest{{Eq: ptr(Byte(1))}}}}
	read := SourceKind{HIDPP: &HIDPP{Feature: "0601", Read: ptr(1)}}
	event := SourceKind{HIDPP: &HIDPP{Feature: "0601", Event: Events{0}}}
	usage := func(kind HIDKind) SourceKind { return SourceKind{HIDUsage: &HIDUsage{Kind: kind}} }
	level := SourceKind{HIDReport: &HIDReport{Value: &ByteValue{}}}
	toggle := SourceKind{HIDReport: &HIDReport{ReportID: ptr(Byte(1)), Kind: HIDToggle, Anchor: &Anchor{HIDQuery: query.HIDQuery}}}
	or := func(terms ...SourceKind) SourceKind { return SourceKind{Derive: &Derive{Or: terms}} }
	for name, c := range map[string]struct {
		before []SourceKind
		kind   SourceKind
		want   []string // paths below the source's own
	}{
		"query":                               {nil, query, []string{".hid_query"}},
		"query that is asked again":           {nil, asked, nil},
		"empty ask_on":                        {nil, SourceKind{HIDQuery: &HIDQuery{Feature: hid.Bytes{1}, AskOn: []ByteTest{}}}, []string{".hid_query"}},
		"hidpp that only reads":               {nil, read, []string{".hidpp"}},
		"hidpp with an event":                 {nil, event, nil},
		"anchor":                              {nil, toggle, nil},
		"after a report":                      {[]SourceKind{level}, query, nil},
		"after a usage that is a level":       {[]SourceKind{usage(HIDLevel)}, query, nil},
		"after a usage that is two buttons":   {[]SourceKind{usage(HIDButtons)}, query, nil},
		"after an event":                      {[]SourceKind{event}, read, nil},
		"after one that does, and others":     {[]SourceKind{level, event}, or(query, read), nil},
		"after a usage that may be a toggle":  {[]SourceKind{usage("")}, query, []string{".hid_query"}},
		"after a toggle":                      {[]SourceKind{toggle}, query, []string{".hid_query"}},
		"after a query that is asked again":   {[]SourceKind{asked}, query, []string{".hid_query"}},
		"after something derived":             {[]SourceKind{or(level, event)}, query, []string{".hid_query"}},
		"after the system's own":              {[]SourceKind{{ALSACtl: &ALSACtl{Name: "Mic"}}}, query, []string{".hid_query"}},
		"in something derived":                {nil, or(level, query, asked), []string{".derive.or[1].hid_query"}},
		"deep in something derived":           {nil, or(level, or(read, event)), []string{".derive.or[1].derive.or[0].hidpp"}},
		"an anchor in something derived":      {nil, or(level, toggle), nil},
		"hidpp that has other faults already": {nil, SourceKind{HIDPP: &HIDPP{Feature: "0601"}}, []string{"nothing would ever tell the state"}},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(sources []SourceRule, link []LinkRule, at string) {
				t.Helper()
				var got, want []string
				for _, f := range catalogueOf(Product{ID: "p", Links: []Link{usbLink("0700")}, AllowWrite: true, Sources: sources, LinkState: link}).Check() {
					got = append(got, f.Path+": "+f.Message)
				}
				for _, path := range c.want {
					if strings.HasPrefix(path, ".") {
						want = append(want, at+path+": "+stale)
					} else {
						want = append(want, at+".hidpp: "+path)
					}
				}
				require.Equal(t, want, got)
			}
			var sources []SourceRule
			var link []LinkRule
			for _, k := range append(c.before, c.kind) {
				sources = append(sources, muteOf(k))
				link = append(link, LinkRule{SourceKind: k})
			}
			check(sources, nil, fmt.Sprintf("$.products[0].sources[%d]", len(c.before)))
			check(nil, link, fmt.Sprintf("$.products[0].link_state[%d]", len(c.before)))
		})
	}

	paths := func(p Product) []string {
		p.ID, p.Links, p.AllowWrite = "p", []Link{usbLink("0700")}, true
		var out []string
		for _, f := range catalogueOf(p).Check() {
			out = append(out, f.Path)
		}
		return out
	}
	require.Equal(t, []string{"$.products[0].sources[1].hid_query"}, paths(Product{Sources: []SourceRule{
		{Field: devices.NoiseSuppression, SourceKind: level}, muteOf(query),
	}}), "what tells another flag")
	require.Equal(t, []string{"$.products[0].sources[0].hid_query"}, paths(Product{Sources: []SourceRule{
		muteOf(query), {Field: devices.NoiseSuppression, SourceKind: level},
	}}))
	require.Equal(t, []string{"$.products[0].sources[0].hidpp", "$.products[0].sources[1].hid_query"}, paths(Product{Sources: []SourceRule{
		muteOf(read), muteOf(query),
	}}), "neither tells")
	for _, list := range [][]devices.OS{{devices.Linux}, {devices.Windows, devices.Darwin}} {
		require.Equal(t, []string{"$.products[0].sources[1].hid_query"}, paths(Product{Sources: []SourceRule{
			{Field: devices.HardwareMute, OS: list, SourceKind: level}, muteOf(query),
		}}), "on the other systems nothing does")
		require.Equal(t, []string{"$.products[0].link_state[1].hid_query"}, paths(Product{LinkState: []LinkRule{
			{OS: list, SourceKind: level}, {SourceKind: query},
		}}))
		require.Empty(t, paths(Product{Sources: []SourceRule{
			{Field: devices.HardwareMute, OS: list, SourceKind: level}, {Field: devices.HardwareMute, OS: list, SourceKind: query},
		}}))
	}
	require.Empty(t, paths(Product{Sources: []SourceRule{
		{Field: devices.HardwareMute, OS: []devices.OS{devices.Linux}, SourceKind: level},
		{Field: devices.HardwareMute, OS: []devices.OS{devices.Windows, devices.Darwin}, SourceKind: event},
		muteOf(query),
	}}), "together they do")
}

// What is worth a second look is no fault.
func TestCheckWarnings(t *testing.T) {
	const at = "$.products[0].sources[0]"
	const rather = "hid_report or hid_query; or link_up, if its link goes down only when it is switched off"
	level := &HIDReport{ReportID: ptr(Byte(4)), Value: &ByteValue{Byte: 1, Mask: ptr(Byte(1))}}
	link := []LinkRule{{SourceKind: SourceKind{HIDReport: level}}}
	toggle := func(a Anchor) SourceKind {
		return SourceKind{HIDReport: &HIDReport{ReportID: ptr(Byte(1)), Kind: HIDToggle, Anchor: &a}}
	}
	usage := func(u HIDUsage) SourceKind { return SourceKind{HIDUsage: &u} }
	lamp := &HIDQuery{LastOutput: hid.Bytes{1}, Value: ByteValue{Byte: 1, Mask: ptr(Byte(1))}, PollMS: 2000}
	dongle := Link{Kind: LinkDongle, VID: "1209", PIDs: []string{"0701"}}
	lamps := Fault{
		at + ".hid_usage", "where programs answer a press by setting the mute lamp, a mute in another program inverts the state",
		"hid_query with last_output and poll_ms, if the device lets its mute lamp be read",
	}
	for name, c := range map[string]struct {
		product Product
		kind    SourceKind
		want    []Fault
	}{
		"start":                        {Product{}, toggle(Anchor{Start: ptr(false)}), nil},
		"start beside a link":          {Product{LinkState: link}, toggle(Anchor{Start: ptr(false)}), []Fault{{at + ".hid_report.anchor.start", "it does not apply when the link comes up: the state is then unknown", rather}}},
		"start and link_up":            {Product{LinkState: link}, toggle(Anchor{Start: ptr(false), LinkUp: ptr(false)}), nil},
		"start and a level":            {Product{LinkState: link}, toggle(Anchor{Start: ptr(false), HIDReport: level}), nil},
		"start of a dongle":            {Product{Links: []Link{dongle}}, toggle(Anchor{Start: ptr(false)}), []Fault{{at + ".hid_report.anchor.start", "it never applies: plugging in a dongle, or connecting over Bluetooth, does not switch the headset on", rather}}},
		"start over Bluetooth":         {Product{Links: []Link{{Kind: LinkBluetooth, VID: "1209", PIDs: []string{"0702"}}}}, toggle(Anchor{Start: ptr(false)}), []Fault{{at + ".hid_report.anchor.start", "it never applies: plugging in a dongle, or connecting over Bluetooth, does not switch the headset on", rather}}},
		"start of a cable beside it":   {Product{Links: []Link{dongle, usbLink("0700")}}, toggle(Anchor{Start: ptr(false)}), []Fault{{at + ".hid_report.anchor.start", "a headset that also has a wireless link has a battery: when its cable is plugged in it may have been on, and muted, for long", "hid_report or hid_query"}}},
		"link_up over radio":           {Product{Links: []Link{dongle}, LinkState: link}, toggle(Anchor{LinkUp: ptr(false)}), []Fault{{at + ".hid_report.anchor.link_up", "a press that the radio loses, or while the headset is out of reach and the link is not reported as down, inverts the state", "hid_report or hid_query"}}},
		"link_up and a level":          {Product{Links: []Link{dongle}, LinkState: link}, toggle(Anchor{LinkUp: ptr(false), HIDReport: level}), nil},
		"phone mute":                   {Product{}, usage(HIDUsage{}), nil},
		"phone mute, a toggle":         {Product{}, usage(HIDUsage{Kind: HIDToggle, Anchor: &Anchor{Start: ptr(false)}}), []Fault{lamps}},
		"phone mute, perhaps a toggle": {Product{}, usage(HIDUsage{Page: "000B", Usage: "2F", Anchor: &Anchor{Start: ptr(false)}}), []Fault{lamps}},
		"phone mute, asked at times":   {Product{}, usage(HIDUsage{Anchor: &Anchor{HIDQuery: &HIDQuery{Feature: hid.Bytes{1}, Value: lamp.Value}}}), []Fault{lamps}},
		"phone mute with its lamp":     {Product{}, usage(HIDUsage{Anchor: &Anchor{HIDQuery: lamp}}), nil},
		"a media key":                  {Product{}, usage(HIDUsage{Page: "0c", Usage: "e2", Kind: HIDToggle, Anchor: &Anchor{Start: ptr(false)}}), nil},
		"any report":                   {Product{}, SourceKind{HIDReport: &HIDReport{Value: &ByteValue{Mask: ptr(Byte(1))}}}, []Fault{{at + ".hid_report", "it would match any report, so it is not applied to devices that number their reports", "report_id, or when"}}},
		"a value that says nothing":    {Product{}, SourceKind{HIDReport: &HIDReport{ReportID: ptr(Byte(1)), Value: &ByteValue{Byte: 1}}}, []Fault{{at + ".hid_report.value", "0 is not muted, 1 is muted, and every other value is unknown", "on and off, both with the values that the device sends"}}},
		"the same in a derived state":  {Product{}, or(usage(HIDUsage{}), usage(HIDUsage{Kind: HIDToggle, Anchor: &Anchor{Start: ptr(false)}})), []Fault{{at + ".derive.or[1].hid_usage", lamps.Message, lamps.Hint}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.product
			p.ID, p.AllowWrite = "p", true
			p.Sources = []SourceRule{muteOf(c.kind)}
			if p.Links == nil {
				p.Links = []Link{usbLink("0700")}
			}
			cat := catalogueOf(p)
			require.Empty(t, cat.Check())
			require.Equal(t, c.want, cat.warnings())
		})
	}
}

func TestSourcesOfSeveralInputs(t *testing.T) {
	boom, line := &Pick{NameRegex: "Boom"}, &Pick{NameRegex: "Line"}
	level := func(id Byte) SourceKind {
		return SourceKind{HIDReport: &HIDReport{ReportID: ptr(id), Value: &ByteValue{Byte: 1, On: []Byte{1}, Off: []Byte{0}}}}
	}
	once := SourceKind{HIDQuery: &HIDQuery{Feature: hid.Bytes{1}, Value: *level(1).HIDReport.Value}}
	picked := func(p *Pick, k SourceKind) SourceRule {
		return SourceRule{Field: devices.HardwareMute, Pick: p, SourceKind: k}
	}
	product := Product{
		ID: "p", Links: []Link{usbLink("0700")}, AllowWrite: true,
		Endpoints: []EndpointRule{{Type: devices.AudioInput, Pick: boom}, {Type: devices.AudioInput, Pick: line}},
		Sources:   []SourceRule{picked(boom, level(1)), picked(line, level(2)), picked(line, once)},
	}
	cat := catalogueOf(product)
	require.Empty(t, cat.Check())
	require.Empty(t, cat.warnings())

	product.Sources = []SourceRule{picked(boom, level(1)), picked(nil, level(1)), picked(line, level(2))}
	cat = catalogueOf(product)
	require.Equal(t, []Fault{{"$.products[0].sources[1]", "the product reports several inputs, and this mute counts for all of them", "pick, if it mutes only one of them"}}, cat.warnings())

	product.Sources = []SourceRule{picked(boom, level(1)), picked(&Pick{}, level(2)), picked(line, once)}
	var paths []string
	for _, fault := range catalogueOf(product).Check() {
		paths = append(paths, fault.Path)
	}
	require.Equal(t, []string{"$.products[0].sources[1].pick.name_regex", "$.products[0].sources[2].hid_query"}, paths)
}
