package hid_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

// A device may have the same control on two interfaces. It is one control: what one of them has missed is unknown.
func TestSameControlOnTwoInterfaces(t *testing.T) {
	w := newWorld(t, toggleOf("start: false"))
	w.happen(plugged("hidraw0", reports(1)), plugged("hidraw1", reports(1)))
	require.Equal(t, "sources[0]=true sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=unknown sources[0]=unknown", w.happen(lost("hidraw0")))
	w.happen(gone("hidraw0"), gone("hidraw1"), plugged("hidraw0", reports(1)), plugged("hidraw1", reports(1)))
	require.Equal(t, "sources[0]=true sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=unknown", w.happen(gone("hidraw0")))
}

// When only one interface fails, the others are asked what holds now.
func TestInterfaceFails(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1}}}
`)
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(2)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "once")
	w.happen(w.answer("hidraw1 feature 22", 0x22, 0))
	require.Equal(t, "sources[0]=true sources[1]=false", w.happen(in("hidraw0", 1, 1)))
	failed := gone("hidraw0")
	failed.Error = "input/output error"
	require.Equal(t, "sources[1]=unknown", w.happen(failed), "false is older than the true that is gone")
	require.Empty(t, w.asked(), "nothing would tell when its answer is over")
	require.Contains(t, w.note("sources[1]"), "read none of the device's interfaces")
	w.happen(at("hidraw0", reports(1)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "the first one is back")
	require.Empty(t, w.note("sources[1]"))
}

// The same, of a query that a report of its own interface tells to ask again.
func TestOtherInterfaceFails(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, eq: 2}]}}
`)
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(2)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "once")
	w.happen(w.answer("hidraw1 feature 22", 0x22, 0), in("hidraw0", 1, 1))
	failed := gone("hidraw0")
	failed.Error = "input/output error"
	require.Equal(t, "sources[1]=unknown", w.happen(failed), "false is older than the true that is gone")
	require.Equal(t, "hidraw1 feature 22", w.asked())
	require.Equal(t, "sources[1]=true", w.happen(w.answer("hidraw1 feature 22", 0x22, 1)))
	require.Equal(t, "sources[1]=unknown", w.happen(at("hidraw0", reports(1)), in("hidraw0", 1, 0), gone("hidraw0")))
	require.Empty(t, w.asked(), "it has been unplugged, and this interface goes next")
	w.happen(at("hidraw0", reports(1)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "it did not: the first one is back")
}

func TestTwoUnits(t *testing.T) {
	other := plugged("hidraw1", reports(1))
	other.Device.Container = "usb:1-2"
	w := newWorld(t, toggleOf("start: false"))
	w.happen(plugged("hidraw0", reports(1)), other)
	require.Equal(t, "sources[0]=false sources[0]=true", w.happen(in("hidraw1", 1, 1)))
	require.Equal(t, "sources[0]=unknown sources[0]=true", w.happen(lost("hidraw0")))
	require.Equal(t, "sources[0]=true", w.happen(gone("hidraw0")))

	for i, d := range []*hid.Device{{Serial: "A"}, {Serial: "B"}, {}, {}} { // without containers
		e := plugged(fmt.Sprintf("hidraw%d", i), reports(1))
		e.Device.Container, e.Device.Serial = "", d.Serial
		w.happen(e)
	}
	require.Equal(t, "sources[0]=false sources[0]=false sources[0]=unknown sources[0]=false", w.happen(lost("hidraw2")))
}

// A product that is several USB devices is one unit by its serial number.
func TestUnitBySerial(t *testing.T) {
	w := newWorld(t, "    group_by: serial\n"+linked[1:])
	first, second := at("hidraw0", reports(1, 2)), at("hidraw1", reports(4))
	first.Device.Serial, second.Device.Serial, second.Device.Container = "A", "A", "usb:1-2"
	w.happen(first, second, in("hidraw1", 4, 1), in("hidraw0", 2, 1))
	require.Contains(t, w.happen(in("hidraw1", 4, 0)), "sources[1]=unknown")
}

// A toggle on two interfaces is one, on whichever it is pressed. The same press told on both is one press.
func TestTogglePressedOnTwoInterfaces(t *testing.T) {
	for name, rule := range map[string]string{
		"report": `hid_report: {report_id: 1, kind: toggle, anchor: {start: false}}`,
		"button": `hid_report: {report_id: 1, kind: toggle, value: {byte: 1}, anchor: {start: false}}`,
		"level":  `hid_report: {report_id: 1, kind: toggle, anchor: {start: false, hid_report: {report_id: 2, value: {byte: 1, on: [1], off: [0]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "\n    sources: [{field: hardware_mute, "+rule+"}]\n")
			w.happen(plugged("hidraw0", reports(1, 2)), plugged("hidraw1", reports(1, 2)))
			both := func(v string) string { return "sources[0]=" + v + " sources[0]=" + v }
			press := func(node string) string {
				w.apply(in(node, 1, 1))
				w.apply(in(node, 1, 0)) // a button is released
				return w.states()
			}
			if name != "button" {
				press = func(node string) string { w.apply(in(node, 1, 1)); return w.states() }
			}
			w.pass(time.Second)
			require.Equal(t, both("true"), press("hidraw0"))
			w.pass(time.Second)
			require.Equal(t, both("false"), press("hidraw1"))
			w.tr = restored(t, w.tr, w.tr.Rules())
			w.pass(time.Second)
			require.Equal(t, both("true"), press("hidraw1"))
			w.pass(12 * time.Millisecond)
			require.Equal(t, both("true"), press("hidraw0"), "the same press")
			w.pass(time.Second)
			w.between(w.now.Add(-time.Millisecond), in("hidraw0", 1, 1))
			require.Equal(t, both("false"), w.states())
			w.pass(60 * time.Millisecond)
			w.between(w.now.Add(-time.Hour), in("hidraw1", 1, 1))
			require.Equal(t, both("unknown"), w.states(), "the same one, or another")
		})
	}
}

// Two models share the ids of one dongle and differ by name. A device is sent the requests of its own model only, and none while nobody
// knows which it is.
func TestRequestsOfAnotherModel(t *testing.T) {
	product := func(id, name, request string) string {
		return fmt.Sprintf(`  - id: %s
    name: %[1]s
    url: https://acme.example/%[1]s
    priority: %d
    links: [{kind: usb, vid: "1209", pids: ["0700"]%s}]
    endpoints: [{type: audioinput}]
    allow_write: true
    sources: [{field: hardware_mute, hid_query: {output: ["%s 01"], expect: [{byte: 0, eq: 1}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}]
`, id, len(id), name, request)
	}
	head, _, _ := strings.Cut(head, "  - id: headset")
	for name, want := range map[string]string{
		"Acme Pro": "hidraw0 output 11 01", "Acme Lite": "hidraw0 output 12 01", "": "",
	} {
		cat, problems := catalogue.Decode("test.yaml", []byte(head+product("pro", ", name_regex: Pro", "11")+product("lite", "", "12")))
		require.Empty(t, problems)
		w := worldOf(t, catalogue.HIDRules(cat, devices.Linux))
		e := at("hidraw0", reports(1, 2, 9))
		e.Device.Name = name
		w.happen(e)
		require.Equal(t, want, w.asked(), name)
		w.happen(in("hidraw0", 9))
		w.asked()
	}
}

// TestRequestsOfModelsBehindOneID: nothing but the link_state tells which of two models is there, so both are asked for it, and for the rest
// only the one that is.
func TestRequestsOfModelsBehindOneID(t *testing.T) {
	product := func(id string, request, model int) string {
		return fmt.Sprintf(`  - id: %s
    name: %[1]s
    url: https://acme.example/%[1]s
    priority: %d
    links: [{kind: dongle, vid: "1209", pids: ["0700"]}]
    endpoints: [{type: audioinput}]
    allow_write: true
    link_state: [{hid_report: {report_id: 1, value: {byte: 1, on: [%d], off: [0, 1, 2]}}}]
    sources: [{field: hardware_mute, hid_query: {output: ["%d 01"], expect: [{byte: 0, eq: %[2]d}], value: {byte: 1, on: [1], off: [0]}, at: [attach], ask_on: [{byte: 0, eq: 9}]}}]
`, id, request, model, request+10)
	}
	head, _, _ := strings.Cut(head, "  - id: headset")
	models := strings.ReplaceAll(product("a", 2, 1)+product("b", 3, 2), "off: [0, 1, 2]", "off: [0]")
	cat, problems := catalogue.Decode("test.yaml", []byte(head+models))
	require.Empty(t, problems)
	w := worldOf(t, catalogue.HIDRules(cat, devices.Linux))
	w.happen(at("hidraw0", reports(1, 2, 3, 9)))
	w.happen(in("hidraw0", 9))
	require.Empty(t, w.asked(), "neither is known to be there")
	w.happen(in("hidraw0", 1, 2))
	require.Equal(t, "hidraw0 output 13 01", w.asked(), "the second is")
	w.happen(in("hidraw0", 3, 1))
	require.Equal(t, "link_state[0]=unknown sources[0]=unknown link_state[0]=true sources[0]=true", w.states())
	w.happen(in("hidraw0", 9))
	require.Equal(t, "hidraw0 output 13 01", w.asked())
	w.happen(in("hidraw0", 3, 1))
	w.resume()
	require.Empty(t, w.asked(), "perhaps the other one is there now")
	w.happen(in("hidraw0", 1, 0))
	require.Empty(t, w.asked())
	w.happen(in("hidraw0", 1, 1))
	require.Equal(t, "hidraw0 output 12 01", w.asked(), "the first is")
}
