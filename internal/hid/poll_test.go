package hid_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What nothing tells of is asked for again and again, whatever is forgotten meanwhile, and whether or not the rule asks at once then.
func TestPollingGoesOn(t *testing.T) {
	const ask = "hidraw0 last output 13"
	for _, at1 := range []string{"", ", at: [attach]", ", at: [attach, resume]"} {
		for name, forget := range map[string]func(*world){
			"sleep":                    func(w *world) { w.resume() },
			"sleep, stated after it":   func(w *world) { w.tr.Resume(t0, w.now) },
			"lost reports":             func(w *world) { w.happen(lost("hidraw0")) },
			"the link comes up":        func(w *world) { w.happen(in("hidraw0", 2, 0), in("hidraw0", 2, 1)) },
			"a link that nobody knows": func(w *world) { w.happen(in("hidraw0", 2, 1), in("hidraw0", 2, 7)) },
		} {
			for _, waits := range []bool{false, true} {
				w := newWorld(t, `
    link_state: [{hid_report: {report_id: 2, value: {byte: 1, on: [1], off: [0]}}}]
    sources: [{field: hardware_mute, hid_query: {last_output: "13", value: {byte: 1, mask: 1}, poll_ms: 2000`+at1+`}}]
`)
				w.happen(at("hidraw0", reports(2, 3)))
				require.Equal(t, ask, w.asked())
				w.happen(w.answer(ask, 0x13, 1))
				if waits {
					w.expire()
					require.Equal(t, ask, w.asked())
				}
				forget(w)
				for asked := w.asked(); asked == ""; asked = w.asked() {
					require.False(t, w.tr.Due().IsZero(), "%s%s: it is never asked again", name, at1)
					w.expire()
				}
				require.Contains(t, w.happen(w.answer(ask, 0x13, 0)), "sources[0]=false", "%s%s", name, at1)
			}
		}
	}
}
