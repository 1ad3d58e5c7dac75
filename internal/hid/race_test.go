package hid_test

import (
	"testing"
	"time"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

// The answer of a feature report and a press come on different ways: nobody knows which was first.
func TestPressWhileTheAnchorIsAsked(t *testing.T) {
	const ask = "hidraw0 feature 22"
	w := newWorld(t, toggleOf(`hid_query: {feature: "22", value: {byte: 1}}`))
	w.happen(at("hidraw0", reports(1, 2)))
	require.Equal(t, ask, w.asked())
	w.happen(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=unknown", w.happen(w.answer(ask, 0x22, 1)), "from before the press or from after it?")
	w.pass(0)
	require.Equal(t, ask, w.asked(), "once more")
	require.Equal(t, "sources[0]=true", w.happen(w.answer(ask, 0x22, 1)))

	w.pass(20 * time.Millisecond)
	w.tr.Resume(w.now, w.now)
	require.Equal(t, ask, w.asked())
	w.pass(20 * time.Millisecond)
	w.apply(w.answer(ask, 0x22, 1))
	require.Equal(t, "sources[0]=true", w.states())
	w.pass(8 * time.Millisecond)
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=unknown", w.states(), "the device had turned before it answered, or after")
	require.Empty(t, w.asked(), "not so soon")
	w.expire()
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=false", w.happen(w.answer(ask, 0x22, 0)))
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1)), "long after")
	w.quiet("that was no doubt")

	w.resume()
	require.Equal(t, ask, w.asked())
	w.pass(20 * time.Millisecond)
	press := in("hidraw0", 1, 1)
	press.At = w.now
	w.pass(time.Millisecond)
	w.apply(w.answer(ask, 0x22, 1))
	w.apply(press)
	require.Equal(t, "sources[0]=unknown", w.states(), "it was heard before the answer and is told after it")
	w.expire()
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=true", w.happen(w.answer(ask, 0x22, 1)))
}

// An answer that is an input report of the same interface has its place among the presses.
func TestPressBeforeAnAnswerInOrder(t *testing.T) {
	w := newWorld(t, toggleOf(`hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 2}], value: {byte: 1}}`))
	w.happen(at("hidraw0", reports(1, 2)))
	require.Equal(t, question, w.asked())
	w.apply(in("hidraw0", 1, 1))
	w.apply(in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=true", w.states())
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=false", w.states())
	w.quiet("no doubt")
}

// A toggle that was pressed before its link was known to be up is not where its firmware starts.
func TestPressBeforeTheLinkIsKnown(t *testing.T) {
	w := newWorld(t, `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1}, debounce_ms: 500}}]
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {start: false, link_up: false}}}]
`)
	w.happen(plugged("hidraw0", reports(1, 4)), in("hidraw0", 1, 1), in("hidraw0", 4, 0))
	require.Equal(t, "link_state[0]=false sources[0]=unknown", w.expire())
	w.happen(in("hidraw0", 4, 1))
	require.Equal(t, "link_state[0]=true sources[0]=unknown", w.expire(), "it may have been on while its dongle was looking for it")
	w.happen(in("hidraw0", 4, 0))
	w.expire()
	w.happen(in("hidraw0", 4, 1))
	require.Equal(t, "link_state[0]=true sources[0]=false", w.expire())
	w.happen(in("hidraw0", 4, 0))
	w.expire()
	w.happen(in("hidraw0", 4, 1))
	w.now = w.now.Add(-900 * time.Millisecond)
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "link_state[0]=true sources[0]=unknown", w.expire())
}

// Of two interfaces with the same control the one that spoke last is right, also if it says what it
// said before the other one spoke.
func TestLatestWordOfTwoInterfaces(t *testing.T) {
	w := newWorld(t, `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}]
`)
	latest := func() string {
		one, other := w.tr.Readings()[0], w.tr.Readings()[1]
		if one.Since.After(other.Since) {
			return one.Value.String()
		}
		return other.Value.String()
	}
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(1)), in("hidraw0", 1, 0), in("hidraw1", 1, 1))
	require.Equal(t, "true", latest())
	require.True(t, w.tr.Apply(in("hidraw0", 1, 0), w.now.Add(time.Second)), "a change is told")
	require.Equal(t, "false", latest())
	require.False(t, w.tr.Apply(in("hidraw0", 1, 0), w.now.Add(2*time.Second)))

	w.happen(in("hidraw0", 1, 1))
	w.apply(in("hidraw0", 1, 0))
	w.apply(in("hidraw1", 1, 0))
	w.apply(in("hidraw1", 1, 1)) // at the same moment
	require.Equal(t, "true", latest())
}

// While the place of a feature is looked up again, and if that fails, an event that cannot be read says
// that the state has changed.
func TestEventWhileTheFeatureIsLookedUpAgain(t *testing.T) {
	w := newWorld(t, `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1}}}]
    sources: [{field: hardware_mute, hidpp: {feature: "0601", event: 0, value: {byte: 0}}}]
`)
	muted, unmuted := long(0x11, 0xff, 8, 0, 1), long(0x11, 0xff, 8, 0, 0)
	w.happen(at("hidraw0", reports(1, 4, 0x11)), long(0x11, 0xff, 0, 0x0d, 8))
	require.Equal(t, "link_state[0]=unknown sources[0]=true", w.happen(muted))
	require.Equal(t, "link_state[0]=true sources[0]=true", w.happen(in("hidraw0", 4, 1)))
	require.Equal(t, "link_state[0]=true sources[0]=true", w.happen(long(0x11, 0xff, 9, 0, 0)), "of another feature")
	require.Equal(t, "link_state[0]=true sources[0]=unknown", w.happen(unmuted))
	w.expire()
	require.Equal(t, "link_state[0]=true sources[0]=unknown", w.happen(muted), "it has not answered")
	w.resume()
	w.asked()
	w.happen(long(0x11, 0xff, 0, w.programID, 8))
	require.Equal(t, "link_state[0]=unknown sources[0]=true", w.happen(muted))
}

// The anchor's word on another interface may overtake the press that it is about.
func TestAnchorOvertakesAPress(t *testing.T) {
	w := newWorld(t, toggleOf("hid_report: {report_id: 2, value: {byte: 1}}"))
	require.Equal(t, "sources[0]=true", w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(2)), in("hidraw1", 2, 1)))
	w.pass(8 * time.Millisecond)
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=unknown", w.states())
	w.quiet("this anchor cannot be asked")
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw1", 2, 1)))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 1, 1)), "long after")

	w = newWorld(t, `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1}}}]`+toggleOf("start: false, link_up: false, hid_report: {report_id: 2, value: {byte: 1}}"))
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(2, 4)), in("hidraw1", 2, 1))
	for _, e := range []hid.Event{in("hidraw1", 4, 1), in("hidraw1", 4, 0), in("hidraw1", 4, 1), in("hidraw0", 1, 1)} {
		w.apply(e)
	}
	require.Equal(t, "sources[0]=true link_state[0]=true", w.states(), "the anchor spoke before all was forgotten")
}

// The answer to a question that was broken off may be taken for that to the next one: it is not believed, and asked once more.
func TestAnswerToABrokenOffQuestion(t *testing.T) {
	w := newWorld(t, asking)
	w.happen(at("hidraw0", reports(1, 2)))
	require.Equal(t, question, w.asked())
	w.pass(20 * time.Millisecond)
	w.tr.Resume(w.now, w.now)
	require.Equal(t, question, w.asked())
	w.apply(in("hidraw0", 1, 1)) // from before the sleep
	require.Equal(t, "sources[0]=unknown", w.states())
	require.Equal(t, question, w.asked(), "once more")
	w.apply(in("hidraw0", 1, 0))
	require.Equal(t, "sources[0]=false", w.states())
	w.quiet("once")
	w.happen(in("hidraw0", 1, 0)) // to the last question
	require.Equal(t, question, w.asked(), "nobody waits for that, so it may tell of a change")
	w.apply(in("hidraw0", 1, 0))
	w.resume()
	require.Equal(t, question, w.asked())
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1)), "each question has been answered")
	w.quiet("answered")
}
