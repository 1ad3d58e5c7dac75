package hid_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/hid"
)

// Recordings of older versions have neither an interval nor a channel.
func TestAnEventOfAnOlderRecordingIsWrittenAsItWas(t *testing.T) {
	const old = `{"happening":"report","node":"hidraw0","data":"0101","at":"2026-01-01T12:00:00Z"}`
	var e hid.Event
	require.NoError(t, json.Unmarshal([]byte(old), &e))
	require.Zero(t, e.Since)
	b, err := json.Marshal(e)
	require.NoError(t, err)
	require.Equal(t, old, string(b))
}

// between is a report that was sent at some time since then, is read now, and is handled a moment later.
func (w *world) between(since time.Time, e hid.Event) {
	e.Since, e.At = since, w.now
	w.now = w.now.Add(time.Microsecond)
	w.apply(e)
}

// A press is a bounce only if it must be one, and counts only if it cannot be one.
func TestPressesThatAreReadLate(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		first, second [2]time.Duration // since and at
		want          string
	}{
		"surely two":              {[2]time.Duration{0, 10 * ms}, [2]time.Duration{60 * ms, 80 * ms}, "false"},
		"surely a bounce":         {[2]time.Duration{0, 10 * ms}, [2]time.Duration{10 * ms, 40 * ms}, "true"},
		"each read when it came":  {[2]time.Duration{-time.Hour, 10 * ms}, [2]time.Duration{15 * ms, 40 * ms}, "true"},
		"both waited":             {[2]time.Duration{-time.Hour, 700 * ms}, [2]time.Duration{-time.Hour, 700 * ms}, "unknown"},
		"the gap is not measured": {[2]time.Duration{0, 10 * ms}, [2]time.Duration{30 * ms, 70 * ms}, "unknown"},
		"the first one waited":    {[2]time.Duration{-time.Hour, 10 * ms}, [2]time.Duration{-time.Minute, time.Second}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, debounce_ms: 50, anchor: {start: false, hid_query: {feature: "22", value: {byte: 1}}}}}]
`)
			w.happen(plugged("hidraw0", reports(1, 2)))
			w.asked()
			w.happen(w.answer("hidraw0 feature 22", 0x22, 0))
			w.happen(in("hidraw0", 1, 1)) // long before, so that the anchor is no matter
			w.happen(in("hidraw0", 1, 1))
			require.Equal(t, "sources[0]=false", w.states())
			begin := w.now.Add(2 * time.Hour)
			w.now = begin.Add(c.first[1])
			w.between(begin.Add(c.first[0]), in("hidraw0", 1, 1))
			require.Equal(t, "sources[0]=true", w.states())
			w.now = begin.Add(c.second[1])
			w.between(begin.Add(c.second[0]), in("hidraw0", 1, 1))
			require.Equal(t, "sources[0]="+c.want, w.states())
			if c.want == "unknown" {
				require.Equal(t, "hidraw0 feature 22", w.asked())
				require.Equal(t, "sources[0]=false", w.happen(w.answer("hidraw0 feature 22", 0x22, 0)))
			}
			w.quiet("that is all")
			w.tr = restored(t, w.tr, w.tr.Rules())
			require.Equal(t, map[string]string{"false": "sources[0]=true", "true": "sources[0]=false", "unknown": "sources[0]=true"}[c.want],
				w.happen(in("hidraw0", 1, 1)), "long after")
		})
	}
}

// A press that is read long after its anchor has answered may be from before that.
func TestPressThatWaitedWhileItsAnchorAnswered(t *testing.T) {
	const ask = "hidraw0 feature 22"
	w := newWorld(t, toggleOf(`hid_query: {feature: "22", value: {byte: 1}}`))
	w.happen(at("hidraw0", reports(1, 2)))
	w.asked()
	before := w.now
	require.Equal(t, "sources[0]=true", w.happen(w.answer(ask, 0x22, 1)))
	w.now = w.now.Add(time.Second)
	w.between(before, in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=unknown", w.states(), "the answer may have had it already")
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=true", w.happen(w.answer(ask, 0x22, 1)))
	seenEmpty := w.now.Add(hid.AskGap)
	w.now = w.now.Add(time.Second)
	w.between(seenEmpty, in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=false", w.states())
}

// What was sent between freezing and suspending, and is read after the wake, does not count as said since.
func TestReportFromBeforeTheSleep(t *testing.T) {
	for _, sentBefore := range []bool{true, false} {
		w := newWorld(t, "\n    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}}}]\n")
		w.happen(at("hidraw0", reports(1)))
		frozen := w.now
		w.now = w.now.Add(time.Hour)
		woke := w.now
		since := frozen
		if !sentBefore {
			since = w.now.Add(time.Millisecond)
		}
		w.now = w.now.Add(10 * time.Millisecond)
		w.between(since, in("hidraw0", 1, 1))
		require.Equal(t, "sources[0]=true", w.states())
		w.tr.Resume(woke, w.now)
		require.Equal(t, map[bool]string{true: "sources[0]=unknown", false: "sources[0]=true"}[sentBefore], w.states())
	}
}

// Collections of one interface have queues of their own on Windows: a state may overtake the press that it is about.
func TestStateOvertakesItsPress(t *testing.T) {
	const product = `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {hid_report: {report_id: 2, value: {byte: 1, on: [1], off: [0]}}}}}]
`
	for channel, want := range map[int]string{0: "sources[0]=true", 2: "sources[0]=unknown"} {
		w := newWorld(t, product)
		state := func(v byte) hid.Event {
			e := in("hidraw0", 2, v)
			e.Channel = channel
			return e
		}
		w.happen(at("hidraw0", reports(1, 2)), state(1))
		w.now = w.now.Add(time.Minute)
		w.apply(state(0))
		w.apply(in("hidraw0", 1, 1))
		require.Equal(t, want, w.states(), "in order, it is another press")
		w.now = w.now.Add(time.Minute)
		w.apply(in("hidraw0", 1, 1))
		w.apply(state(1))
		require.Equal(t, "sources[0]=true", w.states(), "the anchor has the last word")
	}
}

// A press that is read on two interfaces at once is one, unless both had to wait: an anchor that can be asked decides.
func TestPressOnTwoInterfacesAtOnce(t *testing.T) {
	const ask = "hidraw0 feature 22"
	w := newWorld(t, toggleOf(`hid_query: {feature: "22", value: {byte: 1}}`))
	w.happen(at("hidraw0", reports(1, 2)), at("hidraw1", reports(1)))
	w.asked()
	w.happen(w.answer(ask, 0x22, 0))
	w.pass(time.Hour)
	idle := w.now.Add(-time.Minute)
	w.between(idle, in("hidraw0", 1, 1))
	w.now = w.now.Add(2 * time.Millisecond)
	w.between(idle, in("hidraw1", 1, 1))
	require.Equal(t, "sources[0]=true sources[0]=true", w.states())
	require.Equal(t, ask, w.asked())
	require.Equal(t, "sources[0]=false sources[0]=false", w.happen(w.answer(ask, 0x22, 0)), "there were two")
}
