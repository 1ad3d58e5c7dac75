package hid_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/hid"
)

var t0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a Tracker with one catalogue and a clock, which goes on by a second with each event.
type world struct {
	t   *testing.T
	tr  *hid.Tracker
	now time.Time
	ids map[string]uint64 // of the last request by what it says

	programID byte // the software id in the last request of HID++ that was asked
}

const head = `
schema: 1
vendor: {id: acme, name: Acme, url: "https://acme.example", client_id: "123456789012345678"}
products:
  - id: headset
    name: Headset
    url: https://acme.example/headset
    priority: 1
    links: [{kind: usb, vid: "1209", pids: ["0700"]}]
    endpoints: [{type: audioinput}]
    allow_write: true
`

func newWorld(t *testing.T, product string) *world {
	t.Helper()
	return worldOf(t, rulesOf(t, product))
}

// worldOf is newWorld for rules that are compiled already.
func worldOf(t *testing.T, rules *hid.Rules) *world {
	return &world{t: t, tr: hid.NewTracker(rules), now: t0, ids: make(map[string]uint64)}
}

func rulesOf(t testing.TB, product string) *hid.Rules {
	t.Helper()
	cat, problems := catalogue.Decode("test.yaml", []byte(head+product))
	require.Empty(t, problems)
	return catalogue.HIDRules(cat, devices.Linux)
}

// at returns the event of a device that is there; the interfaces of one device share container 1-1.
func at(node string, descriptor []byte) hid.Event {
	return hid.Event{Kind: hid.Attached, Node: node, Device: &hid.Device{
		Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-1", Interface: 3, Descriptor: descriptor,
	}}
}

func plugged(node string, descriptor []byte) hid.Event {
	e := at(node, descriptor)
	e.Plugged = true
	return e
}

func in(node string, data ...byte) hid.Event {
	return hid.Event{Kind: hid.Report, Node: node, Data: data}
}

func lost(node string) hid.Event { return hid.Event{Kind: hid.Lost, Node: node} }

func gone(node string) hid.Event { return hid.Event{Kind: hid.Gone, Node: node} }

// happen applies events, and returns all states then: "sources[0]=true".
func (w *world) happen(events ...hid.Event) string {
	w.t.Helper()
	for _, e := range events {
		w.now = w.now.Add(time.Second)
		w.apply(e)
	}
	return w.states()
}

// apply applies an event now.
func (w *world) apply(e hid.Event) {
	before := w.tr.Readings()
	if !w.tr.Apply(e, w.now) && !slices.Equal(before, w.tr.Readings()) {
		w.t.Helper() // which costs more than all the rest
		require.Fail(w.t, "a change is told")
	}
}

func (w *world) resume() string {
	w.now = w.now.Add(time.Second)
	w.tr.Resume(w.now, w.now)
	return w.states()
}

// expire lets the time pass until something is due.
func (w *world) expire() string {
	w.t.Helper()
	require.False(w.t, w.tr.Due().IsZero(), "something is due")
	w.now = w.tr.Due()
	w.tr.Expire(w.now)
	require.True(w.t, w.tr.Due().IsZero() || w.tr.Due().After(w.now))
	return w.states()
}

func (w *world) states() string {
	var out []string
	for _, r := range w.tr.Readings() {
		out = append(out, fmt.Sprintf("%s=%v", r.Rule, r.Value))
	}
	return strings.Join(out, " ")
}

// asked takes all requests: "hidraw0 output 05 01".
func (w *world) asked() string {
	var out []string
	for _, r := range w.tr.Requests() {
		text := r.Node + " " + r.What()
		w.ids[text] = r.ID
		if len(r.Output) == hid.HIDPPLength {
			w.programID = r.Output[3] & 0x0f
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// answer is what the last request of that text brings.
func (w *world) answer(request string, data ...byte) hid.Event {
	w.t.Helper()
	require.Contains(w.t, w.ids, request)
	node, _, _ := strings.Cut(request, " ")
	return hid.Event{Kind: hid.Answer, Node: node, Request: w.ids[request], Data: data}
}

func (w *world) note(rule string) string {
	for _, d := range w.tr.Status() {
		for _, s := range d.Sensors {
			if s.Rule == rule {
				if s.Note != "" {
					healthtest.Raised(w.t, health.Condition{Code: s.Note})
				}
				return health.English.Phrase(health.Condition{Code: s.Note})
			}
		}
	}
	return "no such rule"
}

// reports declares input reports of 63 bytes with these numbers, and output and feature reports of one byte with them plus 0x10 and 0x20.
func reports(ids ...byte) []byte {
	d := []byte{0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08}
	for _, id := range ids {
		d = append(d, 0x85, id, 0x95, 63, 0x09, 0x02, 0x81, 0x02)
		d = append(d, 0x85, id+0x10, 0x95, 1, 0x09, 0x03, 0x91, 0x02)
		d = append(d, 0x85, id+0x20, 0x09, 0x04, 0xb1, 0x02)
	}
	return append(d, 0xc0)
}
