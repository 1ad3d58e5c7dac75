package hid_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
)

func TestDeniedDevice(t *testing.T) {
	w := newWorld(t, toggleOf("start: true"))
	denied := plugged("hidraw0", reports(1))
	denied.Kind, denied.Error = hid.Denied, "permission denied"
	require.Empty(t, w.happen(denied, in("hidraw0", 1, 1)))
	require.Equal(t, health.Unnamed("permission denied"), *w.tr.Status()[0].Reason)
	w.tr.Configure(rulesOf(t, toggleOf("start: false")), w.now)
	require.Empty(t, w.states(), "other rules do not open it")
	require.Equal(t, "sources[0]=unknown", w.happen(at("hidraw0", reports(1))), "udev has given the permission: it has been there for a while")
	require.Empty(t, w.happen(denied))
	denied.Error, denied.Device = "", nil
	require.Empty(t, w.happen(denied), "an event that says nothing of the device")
	require.Equal(t, health.Unnamed("permission denied"), *w.tr.Status()[0].Reason)

	var older hid.Checkpoint
	require.NoError(t, json.Unmarshal([]byte(`{"devices":[{"device":{"node":"hidraw0"},"denied":"permission denied"}]}`), &older))
	w.tr.Restore(older)
	require.Equal(t, health.Unnamed("permission denied"), *w.tr.Status()[0].Reason, "older recordings have words alone")
}

func TestConfigure(t *testing.T) {
	const (
		toggle = `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, kind: toggle, %sanchor: {hid_query: {feature: "21", value: {byte: 1}}}}}
`
		another = `      - {field: noise_suppression, hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, eq: 9}]}}
`
		link = `    link_state: [{hid_report: {report_id: 2, value: {byte: 1}}}]
`
	)
	plain := fmt.Sprintf(toggle, "")
	w := newWorld(t, plain)
	configure := func(product string) string {
		w.now = w.now.Add(time.Second)
		before := w.states()
		changed := w.tr.Configure(rulesOf(t, product), w.now)
		require.Equal(t, before != w.states(), changed)
		return w.states()
	}
	w.happen(at("hidraw0", reports(1, 2)))
	w.asked()
	w.happen(w.answer("hidraw0 feature 21", 0x21, 0))
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=true", configure(plain))
	require.Empty(t, w.asked())
	require.Equal(t, "sources[0]=true sources[1]=unknown", configure(plain+another))
	require.Equal(t, "hidraw0 feature 22", w.asked(), "only what is new")
	require.Equal(t, "sources[0]=true", configure(plain))
	require.True(t, w.tr.Due().IsZero(), "nobody waits for the answer any more")
	require.Equal(t, "sources[0]=true", w.happen(w.answer("hidraw0 feature 22", 0x22, 1)))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=unknown", configure(fmt.Sprintf(toggle, "debounce_ms: 10, ")), "another rule")
	require.Equal(t, "hidraw0 feature 21", w.asked(), "its anchor has stayed, and is asked for it")
	require.Equal(t, "sources[0]=true", w.happen(w.answer("hidraw0 feature 21", 0x21, 1)))

	configure(plain)
	w.asked()
	w.happen(w.answer("hidraw0 feature 21", 0x21, 1))
	require.Equal(t, "link_state[0]=unknown sources[0]=true", configure(plain+link))
	require.Equal(t, "link_state[0]=true sources[0]=true", w.happen(in("hidraw0", 2, 1)))
	w.expire() // asked at link_up
	require.Equal(t, "sources[0]=true", configure(plain), "a link that is no longer watched has not gone")
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 2, 0)))
	other := at("hidraw5", reports(3))
	other.Device.Container = "usb:1-2"
	require.Equal(t, "sources[0]=true", w.happen(other, gone("hidraw5")))
	require.Equal(t, "link_state[0]=unknown", configure(link))
}

// The vendor adds hardware to a product: what is known of that which is there stays known.
func TestConfigureMoreHardware(t *testing.T) {
	for name, anchor := range map[string]string{
		"start":      "start: true",
		"hid_query":  `hid_query: {feature: "21", value: {byte: 1}}`,
		"hid_report": "hid_report: {report_id: 2, value: {byte: 1}}",
	} {
		t.Run(name, func(t *testing.T) {
			product := toggleOf(anchor)
			w := newWorld(t, product)
			w.happen(plugged("hidraw0", reports(1, 2)))
			switch name {
			case "hid_query":
				w.asked()
				w.happen(w.answer("hidraw0 feature 21", 0x21, 1))
			case "hid_report":
				w.happen(in("hidraw0", 2, 1))
			}
			require.Equal(t, "sources[0]=true", w.states())
			cat, problems := catalogue.Decode("test.yaml", []byte(head+product))
			require.Empty(t, problems)
			cat.Products[0].Links[0].PIDs = append(cat.Products[0].Links[0].PIDs, "0999")
			require.False(t, w.tr.Configure(catalogue.HIDRules(cat, devices.Linux), w.now))
			require.Equal(t, "sources[0]=true", w.states())
		})
	}
}

// storedDescriptor reads one of those that the parser is tested with.
func storedDescriptor(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("descriptor", "testdata", "descriptors", name+".txt"))
	require.NoError(t, err)
	var b []byte
	for line := range strings.Lines(string(text)) {
		items, _, _ := strings.Cut(line, "#")
		one, err := hex.DecodeString(strings.Join(strings.Fields(items), ""))
		require.NoError(t, err)
		b = append(b, one...)
	}
	return b
}

func TestRules(t *testing.T) {
	require.True(t, new(hid.Rules).Empty())
	require.False(t, new(hid.Rules).Wants(*at("", nil).Device))
	require.False(t, new(hid.Rules).Knows(*at("", nil).Device))
	r := rulesOf(t, `
    sources:
      - {field: hardware_mute, hid_usage: {interface: 3}}
      - {field: hardware_mute, os: [windows], hid_report: {interface: 5, value: {byte: 1}}}
      - {field: hardware_mute, hid_report: {interface: 6, report_id: 1, kind: toggle, anchor: {hid_report: {interface: 7, report_id: 2, value: {byte: 1}}}}}
      - {field: noise_suppression, hidpp: {interface: 8, feature: "0903", read: 0, event: 0, value: {byte: 0}}}
      - {field: echo_cancellation, hid_query: {interface: 9, output: ["11 00"], expect: [{byte: 0, eq: 1}], value: {byte: 0}, ask_on: [{byte: 0, eq: 9}]}}
`)
	require.False(t, r.Empty())
	mute := storedDescriptor(t, "headset-level")
	for i, c := range []struct {
		bus        devices.Bus
		pid        string
		number     int
		descriptor []byte
		want       bool
	}{
		{devices.USB, "0700", 3, mute, true},
		{devices.USB, "0700", 3, reports(1), false}, // no such usage
		{devices.USB, "0700", 3, nil, false},        // nobody knows where the usage is
		{devices.USB, "0700", 4, mute, false},
		{devices.USB, "0701", 3, mute, false},
		{devices.Bluetooth, "0700", 3, mute, false},
		{devices.USB, "0700", 5, reports(1), false},        // not on this system
		{devices.USB, "0700", 6, reports(1), true},         //
		{devices.USB, "0700", 6, reports(2), false},        // no such report
		{devices.USB, "0700", 6, nil, true},                // nobody knows whether it has the report
		{devices.USB, "0700", 6, []byte{0x85, 0}, true},    // nor here: it makes no sense
		{devices.USB, "0700", 7, reports(2), true},         // the anchor
		{devices.USB, "0700", 8, reports(2), false},        // no long reports
		{devices.USB, "0700", 8, reports(1, 0x11), true},   // the output report is 1's
		{devices.USB, "0700", 9, reports(2), false},        // no such output report
		{devices.USB, "0700", 9, reports(1), true},         //
		{devices.USB, "0700", -1, reports(1, 2, 3), false}, // no interface
	} {
		d := hid.Device{Bus: c.bus, VID: "1209", PID: c.pid, Interface: c.number, Descriptor: c.descriptor}
		require.Equal(t, c.want, r.Wants(d), i)
		require.True(t, r.Knows(d) || !c.want, i)
	}
	for _, c := range []struct {
		bus      devices.Bus
		vid, pid string
		number   int
		want     bool
	}{
		{devices.USB, "1209", "0700", 3, true},
		{devices.USB, "1209", "0700", 4, false},
		{devices.USB, "1209", "0700", 5, false}, // on another system
		{devices.USB, "1209", "0701", 3, false},
		{devices.USB, "1210", "0700", 3, false},
		{devices.Bluetooth, "1209", "0700", 3, false},
		{"", "", "", -1, true}, // nobody knows whose it is
	} {
		require.Equal(t, c.want, r.Knows(hid.Device{Bus: c.bus, VID: c.vid, PID: c.pid, Interface: c.number}), "%+v", c)
	}
}

func TestNotes(t *testing.T) {
	illegal := []byte{0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x02, 0xc0}
	w := newWorld(t, "    sources: [{field: hardware_mute, hid_usage: {}}]\n")
	require.Equal(t, "sources[0]=unknown", w.happen(at("hidraw0", illegal), in("hidraw0", 1)))
	require.Contains(t, w.note("sources[0]"), "none of the three legal forms")
	w.happen(at("hidraw0", storedDescriptor(t, "headset-momentary")))
	require.Contains(t, w.note("sources[0]"), "without an anchor")
	w.happen(at("hidraw0", storedDescriptor(t, "headset-level")))
	require.Empty(t, w.note("sources[0]"))

	w = newWorld(t, `    sources: [{field: noise_suppression, hidpp: {feature: "0903", read: 0, event: 0, value: {byte: 0}}}]`+"\n")
	w.happen(at("hidraw0", reports(0x01, 0x11)))
	require.Equal(t, "hidraw0 output 11 ff 00 0d 09 03"+strings.Repeat(" 00", 14), w.asked())
	none := append([]byte{0x11, 0xff, 0, 0x0d}, make([]byte, 16)...)
	w.happen(in("hidraw0", none...))
	require.Equal(t, "the device says that it does not have this feature", w.note("sources[0]"))
	require.Empty(t, w.asked())
	w.resume()
	w.expire()
	require.Equal(t, silence, w.note("sources[0]"))
}

// Devices send many reports that say nothing new: they cost next to nothing.
func TestReportsThatChangeNothing(t *testing.T) {
	w := newWorld(t, linked)
	w.happen(plugged("hidraw0", reports(1, 2, 3)), plugged("hidraw1", reports(4)), in("hidraw1", 4, 1), in("hidraw0", 2, 1))
	other, same := in("hidraw0", 3, 1), in("hidraw0", 2, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		require.False(t, w.tr.Apply(other, w.now) || w.tr.Apply(same, w.now))
	}))
}
