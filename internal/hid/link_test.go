package hid_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

const linked = `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}]
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {start: false, link_up: false}}}
      - {field: noise_suppression, hid_report: {report_id: 2, value: {byte: 1}}}
      - {field: echo_cancellation, hid_query: {feature: "22", value: {byte: 1}, at: [link_up], ask_on: [{byte: 0, eq: 9}]}}
`

func TestLink(t *testing.T) {
	const ask = "hidraw0 feature 22"
	up, down, press := in("hidraw1", 4, 1), in("hidraw1", 4, 0), in("hidraw0", 1, 1)
	link := func(v string) string { return " link_state[0]=" + v }
	w := newWorld(t, linked)
	require.Equal(t, "sources[0]=false sources[1]=unknown sources[2]=unknown"+link("unknown"), w.happen(plugged("hidraw0", reports(1, 2)), plugged("hidraw1", reports(4))))
	w.happen(press, in("hidraw0", 2, 1))
	require.Empty(t, w.asked())
	require.Equal(t, "sources[0]=true sources[1]=true sources[2]=unknown"+link("true"), w.happen(up), "it was up all the time")
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=true sources[1]=true sources[2]=true"+link("true"), w.happen(w.answer(ask, 0x22, 1), up))
	require.Empty(t, w.asked(), "the same again is nothing new")

	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown"+link("false"), w.happen(down))
	require.Equal(t, "sources[0]=unknown sources[1]=true sources[2]=unknown"+link("false"), w.happen(in("hidraw0", 2, 1)))
	require.Equal(t, "sources[0]=false sources[1]=unknown sources[2]=unknown"+link("true"), w.happen(up), "what the dongle said meanwhile is not of the headset that comes back")
	require.Equal(t, ask, w.asked())
	w.happen(down)
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown"+link("false"), w.happen(w.answer(ask, 0x22, 1)), "asked before it went down")

	w.happen(up, press)
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown"+link("unknown"), w.resume())
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown"+link("true"), w.happen(up), "not seen coming up")
	w.happen(down)
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown"+link("unknown"), w.happen(in("hidraw1", 4, 7)))
	w.happen(down, up, in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown"+link("unknown"), w.happen(in("hidraw1", 4, 7)), "it may have been away")
	w.happen(down, up, in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown"+link("unknown"), w.happen(lost("hidraw1")), "it may have been away unseen")
	w.happen(down, up, in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.happen(gone("hidraw1")))
}

// The first rule that knows decides on the link, and derived ones count as one, as in the resolver.
func TestLinkOfSeveralRules(t *testing.T) {
	w := newWorld(t, `
    link_state:
      - derive:
          and:
            - {hid_report: {report_id: 4, value: {byte: 1}}}
            - derive: {or: [{hid_report: {report_id: 5, value: {byte: 1}}}, {hid_report: {report_id: 6, value: {byte: 1}}}]}
      - {hid_report: {report_id: 7, value: {byte: 1}}}
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}]
`)
	w.happen(at("hidraw0", reports(1, 4, 5, 6, 7)))
	before := devices.Unknown
	for i, c := range []struct {
		event hid.Event
		want  devices.Tri
	}{
		{in("hidraw0", 4, 1), devices.Unknown},
		{in("hidraw0", 7, 0), devices.False},
		{in("hidraw0", 7, 1), devices.True},
		{in("hidraw0", 6, 0), devices.True},
		{in("hidraw0", 5, 0), devices.False},
		{in("hidraw0", 6, 1), devices.True},
		{in("hidraw0", 4, 0), devices.False},
	} {
		w.happen(in("hidraw0", 1, 1), c.event)
		require.Equal(t, c.want, w.tr.LinkState("headset", "usb:1-1"), i)
		forgotten := c.want != before && (c.want == devices.False || before == devices.False)
		require.Equal(t, forgotten, strings.Contains(w.states(), " sources[0]=unknown"), "%d: %s", i, w.states())
		before = c.want
	}
}

// A query that is broken off lets the next one have its turn.
func TestLinkDownDuringAConversation(t *testing.T) {
	w := newWorld(t, `
    link_state:
      - {hid_report: {report_id: 4, value: {byte: 1}}}
      - {hid_query: {feature: "24", value: {byte: 1}, at: [resume]}}
    sources:
      - {field: hardware_mute, hid_query: {output: ["11 01", "11 02"], expect: [{byte: 0, eq: 1}], value: {byte: 1}, ask_on: [{byte: 0, eq: 9}]}}
`)
	w.happen(at("hidraw0", reports(1, 4)))
	require.Equal(t, "hidraw0 output 11 01", w.asked())
	w.tr.Enqueue("hidraw0", 1)
	w.happen(in("hidraw0", 4, 0))
	require.Equal(t, "hidraw0 feature 24", w.asked())
	w.happen(w.answer("hidraw0 feature 24", 0x24, 0))
	require.True(t, w.tr.Due().IsZero())
	w.happen(in("hidraw0", 4, 1))
	require.Equal(t, "hidraw0 output 11 01", w.asked(), "the report that tells of the link does not count as its answer")
}

// The answer that tells of the link is nobody else's, and what it lets ask is asked once.
func TestLinkByQuery(t *testing.T) {
	w := newWorld(t, `
    link_state: [{hid_query: {output: ["14 01"], expect: [{byte: 0, eq: 4}], value: {byte: 1}, ask_on: [{byte: 0, eq: 9}]}}]
    sources: [{field: hardware_mute, hid_query: {output: ["11 01", "11 02"], expect: [{byte: 0, eq: 1}], value: {byte: 1}, ask_on: [{byte: 0, eq: 9}]}}]
`)
	w.happen(at("hidraw0", reports(1, 4)))
	require.Equal(t, "hidraw0 output 14 01", w.asked())
	w.happen(in("hidraw0", 4, 1))
	require.Equal(t, "hidraw0 output 11 01", w.asked())
	w.happen(in("hidraw0", 1, 1))
	require.Equal(t, "hidraw0 output 11 02", w.asked())
	require.Equal(t, "link_state[0]=true sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	require.Empty(t, w.asked())
}

// A dongle that has just been plugged in says "no headset" until it has found it. That is no start of the headset's.
func TestStartOfADongleIsNotThatOfItsHeadset(t *testing.T) {
	up, down := in("hidraw0", 4, 1), in("hidraw0", 4, 0)
	for name, c := range map[string]struct {
		events []hid.Event
		want   string
	}{
		"plugged in":           {[]hid.Event{down, up}, "unknown"},
		"off and on":           {[]hid.Event{down, up, down, up}, "false"},
		"up at first":          {[]hid.Event{up, down, up}, "false"},
		"plugged in again":     {[]hid.Event{up, plugged("hidraw0", reports(1, 4)), down, up}, "unknown"},
		"lost reports":         {[]hid.Event{up, lost("hidraw0"), down, up}, "false"},
		"the machine slept":    {[]hid.Event{up, {}, down, up}, "unknown"},
		"it slept before":      {[]hid.Event{{}, up, down, up}, "false"},
		"it slept when it was": {[]hid.Event{up, down, {}, up}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}]
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {link_up: false}}}]
`)
			w.happen(plugged("hidraw0", reports(1, 4)))
			for _, e := range c.events {
				if e.Kind == "" {
					w.resume()
				} else {
					w.happen(e)
				}
				w.tr = restored(t, w.tr, w.tr.Rules())
			}
			require.Equal(t, "link_state[0]=true sources[0]="+c.want, w.states())
		})
	}
}
