package hid_test

import (
	"testing"
	"time"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

const waking = `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}]
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {hid_report: {report_id: 3, value: {byte: 1, on: [1], off: [0]}}}}}
      - {field: noise_suppression, hid_report: {report_id: 2, value: {byte: 1}, debounce_ms: 50}}
      - {field: echo_cancellation, hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, eq: 5}]}}
`

// That the machine has woken is often told some time after what devices say then.
func TestSaidAfterWaking(t *testing.T) {
	const ask = "hidraw0 feature 22"
	unknown := "link_state[0]=unknown sources[0]=unknown sources[1]=unknown sources[2]=unknown"
	up, on, press := in("hidraw0", 4, 1), in("hidraw0", 2, 1), in("hidraw0", 1, 1)
	for name, c := range map[string]struct {
		before, after []hid.Event
		answer        bool
		want          string
	}{
		"nothing":                     {before: []hid.Event{up, on, in("hidraw0", 3, 1)}, want: unknown},
		"a level":                     {before: []hid.Event{up, on}, after: []hid.Event{on}, want: "link_state[0]=unknown sources[0]=unknown sources[1]=true sources[2]=unknown"},
		"a level that is another":     {before: []hid.Event{on}, after: []hid.Event{in("hidraw0", 2, 0)}, want: "link_state[0]=unknown sources[0]=unknown sources[1]=false sources[2]=unknown"},
		"the link":                    {before: []hid.Event{up, on}, after: []hid.Event{up}, want: "link_state[0]=true sources[0]=unknown sources[1]=unknown sources[2]=unknown"},
		"all":                         {before: []hid.Event{on}, after: []hid.Event{up, in("hidraw0", 3, 0), on}, want: "link_state[0]=true sources[0]=false sources[1]=true sources[2]=unknown"},
		"a press":                     {before: []hid.Event{in("hidraw0", 3, 0)}, after: []hid.Event{press}, want: unknown},
		"an anchor, then a press":     {before: []hid.Event{in("hidraw0", 3, 0)}, after: []hid.Event{in("hidraw0", 3, 0), press}, want: "link_state[0]=unknown sources[0]=true sources[1]=unknown sources[2]=unknown"},
		"an answer to an old one":     {answer: true, want: unknown},
		"an answer to a question":     {after: []hid.Event{in("hidraw0", 5, 0)}, answer: true, want: "link_state[0]=unknown sources[0]=unknown sources[1]=unknown sources[2]=true"},
		"down, and up after the wake": {before: []hid.Event{up, on, in("hidraw0", 4, 0)}, after: []hid.Event{up, on}, want: "link_state[0]=true sources[0]=unknown sources[1]=true sources[2]=unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, waking)
			w.happen(at("hidraw0", reports(1, 2, 3, 4, 5)))
			if len(c.after) > 0 && c.answer { // the one that was asked before is answered
				w.asked()
				w.happen(w.answer(ask, 0x22, 0))
			}
			w.happen(c.before...)
			w.now = w.now.Add(time.Second)
			w.tr.Expire(w.now)
			woke := w.now
			for _, e := range c.after {
				w.happen(e)
				w.now = w.now.Add(50 * time.Millisecond)
				w.tr.Expire(w.now)
			}
			w.asked()
			if c.answer {
				w.happen(w.answer(ask, 0x22, 1))
			}
			w.now = w.now.Add(time.Second)
			w.tr.Resume(woke, w.now)
			require.Equal(t, c.want, w.states())
			require.Equal(t, ask, w.asked(), "it is asked in any case")
			w.tr = restored(t, w.tr, w.tr.Rules())
			w.tr.Resume(woke, w.now)
			require.Equal(t, c.want, w.states(), "two tell of one wake")
			w.tr.Resume(w.now, w.now)
			require.Equal(t, unknown, w.states(), "nobody knows when it woke")
		})
	}
}

// A new value that has yet to last when the machine is said to have woken counts if it came after that.
func TestDebouncedAcrossWaking(t *testing.T) {
	for _, after := range []bool{false, true} {
		w := newWorld(t, waking)
		w.happen(at("hidraw0", reports(1, 2, 3, 4, 5)))
		w.now = w.now.Add(2 * time.Second)
		w.tr.Expire(w.now)
		woke := w.now.Add(10 * time.Millisecond)
		if after {
			woke = w.now.Add(-10 * time.Millisecond)
		}
		w.apply(in("hidraw0", 2, 1))
		w.now = w.now.Add(20 * time.Millisecond)
		w.tr.Resume(woke, w.now)
		w.now = w.now.Add(50 * time.Millisecond)
		w.tr.Expire(w.now)
		require.Equal(t, map[bool]string{
			false: "link_state[0]=unknown sources[0]=unknown sources[1]=unknown sources[2]=unknown",
			true:  "link_state[0]=unknown sources[0]=unknown sources[1]=true sources[2]=unknown",
		}[after], w.states())
	}
}

// An answer to what was asked before the machine slept is of then, also if it comes later.
func TestAnswerAfterWaking(t *testing.T) {
	for _, asked := range []string{"before", "after"} {
		w := newWorld(t, waking)
		w.happen(at("hidraw0", reports(1, 2, 3, 4, 5)))
		ask := w.asked()
		woke := w.now.Add(10 * time.Millisecond)
		if asked == "after" {
			woke = w.now.Add(-10 * time.Millisecond)
		}
		w.now = w.now.Add(20 * time.Millisecond)
		w.apply(w.answer(ask, 0x22, 1))
		require.Contains(t, w.states(), "sources[2]=true")
		w.tr.Resume(woke, w.now)
		require.Contains(t, w.states(), "sources[2]="+map[string]string{"before": "unknown", "after": "true"}[asked])
	}
}

// A headset whose link was last heard of as down before the machine slept may have been on for long when it comes up.
func TestLinkUpAfterWaking(t *testing.T) {
	const product = `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}]
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {link_up: false}}}]
`
	w := newWorld(t, product)
	w.happen(at("hidraw0", reports(1, 4)), in("hidraw0", 4, 1), in("hidraw0", 4, 0))
	woke := w.now.Add(time.Millisecond)
	require.Equal(t, "link_state[0]=true sources[0]=false", w.happen(in("hidraw0", 4, 1)))
	w.tr.Resume(woke, w.now)
	require.Equal(t, "link_state[0]=true sources[0]=unknown", w.states())
}
