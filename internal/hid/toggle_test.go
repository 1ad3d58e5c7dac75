package hid_test

import (
	"testing"
	"time"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

// toggleOf is a toggle that report 1 turns, with an anchor.
func toggleOf(anchor string) string {
	return `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {` + anchor + `}}}]
`
}

func TestStartIsAnAnchorOnlyWhenSeen(t *testing.T) {
	press, dev := in("hidraw0", 1, 1), reports(1)
	for name, c := range map[string]struct {
		events []hid.Event
		want   string
	}{
		"found":                     {[]hid.Event{at("hidraw0", dev)}, "unknown"},
		"found, pressed":            {[]hid.Event{at("hidraw0", dev), press}, "unknown"},
		"plugged":                   {[]hid.Event{plugged("hidraw0", dev)}, "false"},
		"pressed":                   {[]hid.Event{plugged("hidraw0", dev), press}, "true"},
		"pressed twice":             {[]hid.Event{plugged("hidraw0", dev), press, press}, "false"},
		"lost":                      {[]hid.Event{plugged("hidraw0", dev), press, lost("hidraw0")}, "unknown"},
		"lost, pressed":             {[]hid.Event{plugged("hidraw0", dev), press, lost("hidraw0"), press}, "unknown"},
		"lost elsewhere":            {[]hid.Event{plugged("hidraw0", dev), press, lost("hidraw7")}, "true"},
		"gone and back":             {[]hid.Event{plugged("hidraw0", dev), press, gone("hidraw0"), plugged("hidraw0", dev)}, "false"},
		"gone and found":            {[]hid.Event{plugged("hidraw0", dev), press, gone("hidraw0"), at("hidraw0", dev)}, "unknown"},
		"attached anew":             {[]hid.Event{plugged("hidraw0", dev), press, plugged("hidraw0", dev)}, "false"},
		"found anew":                {[]hid.Event{plugged("hidraw0", dev), press, at("hidraw0", dev)}, "unknown"},
		"report of another device":  {[]hid.Event{plugged("hidraw0", dev), in("hidraw1", 1, 1)}, "false"},
		"report of another number":  {[]hid.Event{plugged("hidraw0", dev), in("hidraw0", 2, 1)}, "false"},
		"empty report":              {[]hid.Event{plugged("hidraw0", dev), in("hidraw0")}, "false"},
		"answer that nobody wanted": {[]hid.Event{plugged("hidraw0", dev), {Kind: hid.Answer, Node: "hidraw0", Request: 1, Data: []byte{1, 1}}}, "false"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, toggleOf("start: false"))
			require.Equal(t, "sources[0]="+c.want, w.happen(c.events...))
			require.Empty(t, w.asked())
			require.True(t, w.tr.Due().IsZero())
			require.Equal(t, "sources[0]=unknown", w.resume())
		})
	}
}

func TestReportAsAnchor(t *testing.T) {
	w := newWorld(t, toggleOf("hid_report: {report_id: 2, value: {byte: 1, on: [2], off: [1]}}"))
	require.Equal(t, "sources[0]=unknown", w.happen(plugged("hidraw0", reports(1, 2)), in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 2, 2)))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 2, 3)), "neither on nor off: no anchor")
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 2, 2)), "the same as it said before, but news")
	require.Equal(t, "sources[0]=unknown", w.resume())
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 2, 2)))
	require.Len(t, w.tr.Readings(), 1, "an anchor is no reading")
	require.Equal(t, "sources[0].hid_report.anchor.hid_report", w.tr.Status()[0].Sensors[1].Rule)
}

// The anchor of a toggle may be on another interface, which may be attached before or after.
func TestAnchorOnAnotherInterface(t *testing.T) {
	const ask = "hidraw1 feature 22"
	w := newWorld(t, toggleOf(`hid_query: {feature: "22", value: {byte: 1}}`))
	require.Empty(t, w.happen(at("hidraw1", reports(2))))
	require.Equal(t, ask, w.asked())
	w.happen(w.answer(ask, 0x22, 1))
	require.Equal(t, "sources[0]=unknown", w.happen(at("hidraw0", reports(1))), "presses before it was read went unseen")
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=true", w.happen(w.answer(ask, 0x22, 1)))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 1, 1)))

	other := at("hidraw5", reports(1))
	other.Device.Container = "usb:1-2"
	require.Equal(t, "sources[0]=false sources[0]=unknown", w.happen(other), "another unit of the model has its own anchor")
	require.Empty(t, w.asked())

	require.Equal(t, "sources[0]=unknown sources[0]=unknown", w.happen(lost("hidraw0")))
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=true sources[0]=unknown", w.happen(w.answer(ask, 0x22, 1)))
	require.Equal(t, "sources[0]=unknown sources[0]=unknown", w.happen(gone("hidraw1")))
	require.Equal(t, "sources[0]=unknown sources[0]=unknown", w.happen(at("hidraw1", reports(2))))
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=true sources[0]=unknown", w.happen(w.answer(ask, 0x22, 1)))
}

// After a moment of which nothing is known, a button that is down may have been pressed before.
func TestHeldButton(t *testing.T) {
	const ask = "hidraw0 feature 22"
	w := newWorld(t, `
    sources:
      - field: hardware_mute
        hid_report: {report_id: 1, kind: toggle, value: {byte: 1}, anchor: {start: false, hid_query: {feature: "22", value: {byte: 1}}}}
`)
	require.Equal(t, "sources[0]=false", w.happen(plugged("hidraw0", reports(1, 2))))
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=false", w.happen(w.answer(ask, 0x22, 0)))
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1), in("hidraw0", 1, 1)), "held")
	require.Equal(t, "sources[0]=unknown", w.happen(lost("hidraw0")))
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=true", w.happen(w.answer(ask, 0x22, 1)))
	stale := w.answer(ask, 0x22, 1)
	require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", 1, 1)), "still held, or pressed again?")
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=unknown", w.happen(stale))
	require.Equal(t, "sources[0]=true", w.happen(w.answer(ask, 0x22, 1)))
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1), in("hidraw0", 1, 0)))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 1, 1)))
	w.resume()
	w.asked()
	w.happen(w.answer(ask, 0x22, 1), in("hidraw0", 1, 0))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 1, 1)), "seen up, then down: a press")
}

func TestToggleDebounce(t *testing.T) {
	const ms = time.Millisecond
	w := newWorld(t, `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, debounce_ms: 50, anchor: {start: false}}}]
`)
	w.happen(plugged("hidraw0", reports(1)))
	press := func(after time.Duration) string {
		w.now = w.now.Add(after)
		w.apply(in("hidraw0", 1, 1))
		return w.states()
	}
	require.Equal(t, "sources[0]=true", press(0))
	require.Equal(t, "sources[0]=true", press(20*ms))
	require.Equal(t, "sources[0]=true", press(20*ms))
	require.Equal(t, "sources[0]=false", press(20*ms), "60 ms after the press that counted")
	require.Equal(t, "sources[0]=true", press(-time.Hour), "somebody has set the clock back")
	require.Equal(t, "sources[0]=true", press(10*ms))
	require.Equal(t, "sources[0]=false", press(50*ms))
	require.True(t, w.tr.Due().IsZero())
}

// A level that has yet to last is older than the press that comes meanwhile.
func TestPressWhileTheAnchorHasYetToLast(t *testing.T) {
	w := newWorld(t, toggleOf("hid_report: {report_id: 2, value: {byte: 1, on: [1], off: [0]}, debounce_ms: 3000}"))
	w.happen(at("hidraw0", reports(1, 2)), in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=true", w.expire())
	w.happen(in("hidraw0", 2, 0), in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=unknown", w.expire(), "it was unmuted, and then the button was pressed")
	w.happen(in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=true", w.expire())
}
