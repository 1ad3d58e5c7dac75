package hid_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// quiet is a product that may not be written to.
const quiet = `
  - id: quiet
    name: Quiet
    url: https://acme.example/quiet
    priority: 2
    links: [{kind: usb, vid: "1209", pids: ["0701"]}]
    endpoints: [{type: audioinput}]
    sources:
      - {field: hardware_mute, hid_usage: {kind: level, debounce_ms: 30}}
      - {field: hardware_mute, hid_report: {report_id: 1, kind: toggle, value: {byte: 1}, debounce_ms: 30, anchor: {start: true, hid_report: {report_id: 2, value: {byte: 1}}}}}
`

var fuzzed = []string{
	modelled + quiet,
	queries + quiet,
	linked + quiet,
	`
    link_state: [{derive: {or: [{hid_query: {feature: "24", value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 2}]}}, {hid_report: {when: [{byte: 0, min: 3}], value: {byte: 1}, debounce_ms: 20}}]}}]
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, kind: toggle, value: {byte: 1}, anchor: {hid_query: {output: ["12 01", "11 01"], expect: [{byte: 0, eq: 2}], value: {byte: 1}, timeout_ms: 10, ask_on: [{byte: 1, min: 2}]}}}}
      - {field: noise_suppression, hidpp: {feature: "0903", read: 0, event: 1, value: {byte: 0}}}
      - {field: echo_cancellation, hidpp: {feature: "0904", read: 3, event: 3, device_index: 1, value: {byte: 0, on: [1], off: [0]}, timeout_ms: 20}}
` + quiet,
	`
    sources:
      - {field: hardware_mute, hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 1}], value: {byte: 1, on: [1], off: [0]}, timeout_ms: 150, ask_on: [{byte: 0, in: [1, 2]}]}}
      - {field: noise_suppression, hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, max: 5}], at: [link_up]}}
` + quiet,
	relying + quiet,
	`
    link_state:
      - {hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}, debounce_ms: 30}}
      - {hid_query: {output: ["14 01"], expect: [{byte: 0, eq: 4}], value: {byte: 1, on: [1], off: [0]}}}
    sources:
      - {field: hardware_mute, hidpp: {feature: "0601", event: 0, value: {byte: 0, on: [1], off: [0]}}}
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}}}
      - {field: hardware_mute, hidpp: {feature: "0601", read: 0, value: {byte: 0, on: [1], off: [0]}}}
      - {field: hardware_mute, hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 2}], value: {byte: 1, on: [1], off: [0]}}}
` + quiet,
	quiet[1:],
	`
    link_state: [{hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}]
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {link_up: false, hid_query: {last_output: "12", value: {byte: 1}, ask_on: [{byte: 0, eq: 1}], delay_ms: 40, poll_ms: 1000}}}}
      - {field: hardware_mute, hid_query: {input: "03", value: {byte: 1}, ask_on: [{byte: 0, eq: 5}], timeout_ms: 50}}
      - {field: noise_suppression, hid_query: {feature: "22 01", delay_ms: 20, retry_on: [{byte: 1, eq: 2}], expect: [{byte: 0, eq: 0x22}], value: {byte: 1}, ask_on: [{byte: 0, eq: 2}], timeout_ms: 150}}
      - {field: echo_cancellation, hidpp: {feature: "0904", read: 3, device_index: 1, value: {byte: 0}, ask_on: [{byte: 2, eq: 4}], timeout_ms: 20}}
` + quiet,
	`
    link_state: [{hid_query: {steps: [{output: "14 01"}, {read_feature: "24"}], value: {byte: 1, on: [1], off: [0]}, timeout_ms: 100, poll_ms: 3000}}]
    sources:
      - field: hardware_mute
        hid_query:
          steps:
            - {output: "11 01"}
            - {set_feature: "22 01", expect: [{byte: 0, eq: 2}], retry_on: [{byte: 0, eq: 2}, {byte: 1, min: 2}], pause_ms: 30}
            - {output: "11 02", expect: [{byte: 0, eq: 1}]}
          value: {byte: 1, on: [1], off: [0]}
          timeout_ms: 150
          ask_on: [{byte: 0, eq: 3}]
      - {field: noise_suppression, hid_query: {steps: [{output: "12 01"}, {read_input: "03", expect: [{byte: 1, max: 1}]}], value: {byte: 1}, poll_ms: 2000}}
` + quiet,
}

// FuzzTracker plays events, three bytes and more each, to a Tracker. Whatever they are, it is not
// brought down, never asks to be woken for the past, writes only to what it may write to, and does
// the same when it is told the same, also if another one takes its place at every step.
func FuzzTracker(f *testing.F) {
	var rules []*hid.Rules
	for _, products := range fuzzed {
		if products[0] == ' ' {
			products = "    sources: []\n" + products
		}
		cat, problems := catalogue.Decode("fuzz.yaml", []byte(head+products))
		require.Empty(f, problems)
		rules = append(rules, catalogue.HIDRules(cat, devices.Linux))
	}
	f.Add(byte(0), []byte{0, 0x80, 0, 0, 0, 1, 2, 4, 1, 5, 0, 1, 2, 1, 1, 5, 1, 0})
	f.Add(byte(3), []byte{0, 1, 0, 5, 0, 2, 3, 1, 6, 0, 50, 2, 0x24, 1, 5, 1, 2, 20, 0x11, 0xff, 0, 0x0d, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(byte(1), []byte{0, 0x82, 0, 7, 0, 2, 3, 0x21, 1, 6, 0, 255, 8, 1, 3, 4, 0, 0})
	f.Add(byte(4), []byte{0, 0, 0, 5, 0, 2, 1, 1, 5, 0, 2, 2, 0, 5, 0, 2, 1, 1, 8, 0, 15, 5, 0, 2, 1, 7, 8, 0, 20, 8, 0, 25})
	f.Add(byte(0x98), []byte("Z\x010100!00110100!00000100Y00000000000Y00"))
	f.Add(byte('I'), []byte("Z90100100")) // reports are lost twice at once
	f.Fuzz(func(t *testing.T, which byte, script []byte) {
		first := fuzzRun(t, rules, int(which), script, false)
		require.Equal(t, first, fuzzRun(t, rules, int(which), script, true))
	})
}

func fuzzRun(t *testing.T, rules []*hid.Rules, which int, script []byte, restore bool) string {
	tr, now := hid.NewTracker(rules[which%len(rules)]), t0
	descriptors := [][]byte{reports(1, 2, 3, 4, 5), reports(1, 0x11), {0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x15, 0x00, 0x25, 0x01, 0x75, 0x08, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x22, 0xc0}, nil}
	var last hid.Request
	var log []any
	for len(script) >= 3 {
		op, arg, n := script[0], script[1], int(script[2])
		script = script[3:]
		data := script[:min(n%24, len(script))]
		node := []string{"hidraw0", "hidraw1", "hidraw2"}[arg%3]
		e := hid.Event{Node: node}
		before := tr.Readings()
		changed := false
		switch op % 9 {
		case 0:
			e.Kind, e.Plugged = hid.Attached, arg&0x80 != 0
			e.Device = &hid.Device{
				Bus: devices.USB, VID: "1209", PID: []string{"0700", "0701"}[arg>>6&1], Container: []string{"a", ""}[arg>>5&1],
				Descriptor: descriptors[arg>>3&3],
			}
		case 1:
			e.Kind, e.Device = hid.Denied, &hid.Device{Bus: devices.USB, VID: "1209", PID: "0700"}
		case 2:
			e.Kind, e.Error = hid.Gone, []string{"", "failed"}[n&1]
		case 3:
			e.Kind, e.Request, e.Data, e.Node = hid.Answer, last.ID+uint64(n>>7), data, last.Node
			script = script[len(data):]
		case 4:
			e.Kind = hid.Lost
		case 5:
			e.Kind, e.Data = hid.Report, data
			script = script[len(data):]
		case 6:
			changed = tr.Resume(now, now)
		case 7:
			which += n
			changed = tr.Configure(rules[which%len(rules)], now)
		case 8:
			now = now.Add(time.Duration(n) * 10 * time.Millisecond)
		}
		if e.Kind != "" {
			changed = tr.Apply(e, now)
		}
		for rounds := 0; ; rounds++ {
			due := tr.Due()
			if due.IsZero() || due.After(now) {
				break
			}
			require.Zero(t, rounds, "once is enough")
			changed = tr.Expire(now) || changed
		}
		requests := tr.Requests()
		for _, r := range requests {
			last = r
			require.Equal(t, "0700", tr.Device(r.Node).PID, "the only product that may be written to")
			forms := 0
			for _, report := range [][]byte{r.Output, r.Feature, r.Input, r.LastOutput} {
				if len(report) > 0 {
					forms++
				}
			}
			require.Equal(t, 1, forms)
			require.True(t, len(r.Output) > 0 || len(r.Feature) > 1 || r.Length > 0, "what is only named is read")
		}
		after := tr.Readings()
		require.True(t, changed || slices.Equal(before, after))
		tr.RequireConsistent(t, now)
		log = append(log, e, requests, after, tr.Due())
		if restore {
			tr = restored(t, tr, rules[which%len(rules)])
		}
	}
	out, err := json.Marshal(append(log, tr.Status()))
	require.NoError(t, err)
	return string(out)
}

// restored is a new Tracker that goes on from what the other one knows, as a recording has it.
func restored(t *testing.T, tr *hid.Tracker, rules *hid.Rules) *hid.Tracker {
	text, err := json.Marshal(tr.Checkpoint(func(at time.Time) time.Time { return at }))
	require.NoError(t, err)
	var c hid.Checkpoint
	require.NoError(t, json.Unmarshal(text, &c))
	out := hid.NewTracker(rules)
	out.Restore(c)
	return out
}
