package hid

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/config"
	"sidetone/internal/devices"
)

var t0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a Tracker with one catalogue and a clock.
type world struct {
	t   *testing.T
	tr  *Tracker
	now time.Time
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
`

func newWorld(t *testing.T, product string) *world {
	t.Helper()
	return &world{t: t, tr: NewTracker(rulesOf(t, product)), now: t0}
}

func rulesOf(t *testing.T, product string) *Rules {
	t.Helper()
	cat, problems := config.DecodeCatalogue("test.yaml", []byte(head+product))
	require.Empty(t, problems)
	return NewRules(cat, devices.Linux)
}

func (w *world) device(node string, d Device) Event {
	d.Bus, d.VID, d.PID, d.Container = devices.USB, "1209", "0700", "usb:1-1"
	return Event{Happening: Attached, Node: node, Device: &d}
}

func (w *world) apply(e Event) bool {
	w.now = w.now.Add(time.Second)
	if e.Node == "" {
		e.Node = "hidraw0"
	}
	return w.tr.Apply(e, w.now)
}

func (w *world) value(rule string) devices.Tri {
	w.t.Helper()
	for _, r := range w.tr.Readings() {
		if r.Rule == rule {
			return r.Value
		}
	}
	w.t.Fatalf("no reading of %s", rule)
	return devices.Unknown
}

func report(b ...byte) Event { return Event{Happening: Report, Data: b} }

var phoneMuteMomentary = []byte{
	0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x85, 0x01,
	0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01,
	0x09, 0x2f, 0x81, 0x06, // relative, preferred
	0x95, 0x07, 0x81, 0x03, 0xc0,
}

func TestToggleNeedsItsAnchor(t *testing.T) {
	w := newWorld(t, `
    sources:
      - field: hardware_mute
        hid_usage: {anchor: {start: false}}
`)
	dev := w.device("hidraw0", Device{Descriptor: phoneMuteMomentary})
	w.apply(dev)
	require.Equal(t, devices.Unknown, w.value("sources[0]"), "it may have been there for long")
	w.apply(report(1, 1))
	w.apply(report(1, 0))
	require.Equal(t, devices.Unknown, w.value("sources[0]"))
	w.apply(Event{Happening: Gone})
	require.Empty(t, w.tr.Readings())
	dev.Plugged = true
	require.True(t, w.apply(dev))
	require.Equal(t, devices.False, w.value("sources[0]"))
	require.True(t, w.apply(report(1, 1)))
	require.False(t, w.apply(report(1, 0)))
	require.Equal(t, devices.True, w.value("sources[0]"))
	w.apply(Event{Happening: Lost})
	require.Equal(t, devices.Unknown, w.value("sources[0]"))
}
