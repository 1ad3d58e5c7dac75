package hid_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// Whoever plugs in a dongle does not switch its headset on: it may have been muted long before.
func TestStartOfADongle(t *testing.T) {
	const product = `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {start: false}}}]
`
	for links, want := range map[string]string{
		`{kind: usb, vid: "1209", pids: ["0700"]}`:                                                                          "sources[0]=true",
		`{kind: dongle, vid: "1209", pids: ["0700"]}`:                                                                       "sources[0]=unknown",
		`{kind: dongle, vid: "1209", pids: ["0700"]}, {kind: usb, vid: "1209", pids: ["0701"]}`:                             "sources[0]=unknown",
		`{kind: dongle, vid: "1209", pids: ["0701"]}, {kind: usb, vid: "1209", pids: ["0700"]}`:                             "sources[0]=true",
		`{kind: dongle, vid: "1209", pids: ["0700"], os: [windows]}, {kind: usb, vid: "1209", pids: ["0700"], os: [linux]}`: "sources[0]=true",
	} {
		text := strings.Replace(head, `{kind: usb, vid: "1209", pids: ["0700"]}`, links, 1)
		cat, problems := catalogue.Decode("test.yaml", []byte(text+product))
		require.Empty(t, problems)
		w := &world{t: t, tr: hid.NewTracker(catalogue.HIDRules(cat, devices.Linux)), now: t0, ids: make(map[string]uint64)}
		require.Equal(t, want, w.happen(plugged("hidraw0", reports(1)), in("hidraw0", 1, 1)), links)
	}
}

// Bluetooth that comes back after the headset was out of reach does not switch it on.
func TestStartOverBluetooth(t *testing.T) {
	text := strings.Replace(head, "kind: usb", "kind: bluetooth", 1)
	cat, problems := catalogue.Decode("test.yaml", []byte(text+toggleOf("start: false")))
	require.Empty(t, problems)
	w := &world{t: t, tr: hid.NewTracker(catalogue.HIDRules(cat, devices.Linux)), now: t0, ids: make(map[string]uint64)}
	connected := plugged("hidraw0", reports(1))
	connected.Device.Bus, connected.Device.Container = devices.Bluetooth, "bluetooth:00:11:22:33:44:55"
	require.Equal(t, "sources[0]=unknown", w.happen(connected))
	require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", 1, 1), gone("hidraw0"), connected, in("hidraw0", 1, 1)))
}

// hardware_mute takes no value for what the rule does not say of it, wherever the value is read.
func TestMuteGuessesNothing(t *testing.T) {
	for value, want := range map[string][3]string{ // of 00, 01 and 03
		`{byte: 1}`:                       {"false", "true", "unknown"},
		`{byte: 1, on: [1], off: [0]}`:    {"false", "true", "unknown"},
		`{byte: 1, invert: true}`:         {"true", "false", "unknown"},
		`{byte: 1, mask: 0x01}`:           {"false", "true", "true"},
		`{byte: 1, mask: 2}`:              {"false", "false", "true"},
		`{byte: 1, mask: 2, on: [2]}`:     {"false", "false", "true"},
		`{byte: 1, on: [3], off: [0x00]}`: {"false", "unknown", "true"},
	} {
		for i, b := range []byte{0, 1, 3} {
			w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: `+value+`}}
      - {field: hardware_mute, hid_query: {feature: "22", value: `+value+`}}
      - {field: noise_suppression, hid_report: {report_id: 3, value: {byte: 1, off: [0]}}}
`)
			w.happen(at("hidraw0", reports(1, 2, 3)))
			ask := w.asked()
			states := w.happen(w.answer(ask, 0x22, b), in("hidraw0", 3, b))
			require.Contains(t, states, "sources[1]="+want[i], "%s %d", value, b)
			require.Contains(t, states, "sources[2]="+devices.Of(b != 0).String(), "another flag")
			require.Contains(t, w.happen(in("hidraw0", 1, b)), "sources[0]="+want[i], "%s %d", value, b)
		}
	}
	// Of a catalogue in an old recording, which need not say what the check demands now.
	for _, v := range []catalogue.ByteValue{{On: []catalogue.Byte{1}}, {Off: []catalogue.Byte{1}}} {
		require.Equal(t, devices.Unknown, v.Compile(true).Means[7])
	}
}

// A press may be a request to programs, which answer by the lamp.
func TestMuteLampIsNoted(t *testing.T) {
	key := []byte{0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x85, 0x02, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x06, 0x95, 0x07, 0x81, 0x03}
	lamp := []byte{0x85, 0x03, 0x05, 0x08, 0x09, 0x09, 0x95, 0x01, 0x91, 0x22, 0x95, 0x07, 0x91, 0x03}
	const note = "mute lamp"
	for rule, with := range map[string]bool{
		`hid_usage: {anchor: {start: false}}`: true,
		`hid_usage: {anchor: {start: false, hid_query: {last_output: "03", value: {byte: 1, mask: 1}, poll_ms: 2000}}}`: false,
	} {
		w := newWorld(t, "\n    sources: [{field: hardware_mute, "+rule+"}]\n")
		w.happen(at("hidraw0", append(append([]byte{}, key...), 0xc0)))
		require.NotContains(t, w.note("sources[0]"), note)
		w.happen(at("hidraw0", append(append(append([]byte{}, key...), lamp...), 0xc0)))
		if with {
			require.Contains(t, w.note("sources[0]"), note)
		} else {
			require.NotContains(t, w.note("sources[0]"), note)
		}
	}
}

// An interface that comes later than the others has missed the presses that they told: it does not bring the state of
// the plugging in with it.
func TestStartOfAnInterfaceThatComesLate(t *testing.T) {
	w := newWorld(t, toggleOf("start: false"))
	w.happen(plugged("hidraw0", reports(1)))
	require.Equal(t, "sources[0]=false sources[0]=false", w.happen(plugged("hidraw1", reports(1))))
	require.Equal(t, "sources[0]=true sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=true sources[0]=true sources[0]=true", w.happen(plugged("hidraw2", reports(1))))
}

// When the machine has woken, devices come that have kept their power: that they come is no start.
func TestStartAfterWaking(t *testing.T) {
	for after, want := range map[time.Duration]string{-5 * time.Second: "unknown", 0: "unknown", 29 * time.Second: "unknown", time.Minute: "false"} {
		w := newWorld(t, toggleOf("start: false"))
		w.now = w.now.Add(time.Hour)
		woke := w.now
		if after < 0 { // that the machine has woken is told later than that the device comes
			w.happen(plugged("hidraw0", reports(1)))
			w.now = w.now.Add(-after)
			w.tr.Resume(woke, w.now)
		} else {
			w.tr.Resume(woke, w.now)
			w.now = w.now.Add(after)
			w.tr = restored(t, w.tr, w.tr.Rules())
			w.apply(plugged("hidraw0", reports(1)))
		}
		require.Equal(t, "sources[0]="+want, w.states(), after)
	}
}
