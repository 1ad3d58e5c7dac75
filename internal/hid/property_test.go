package hid_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/testlab"
)

const modelled = `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}]
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, kind: toggle, anchor: {start: false, link_up: false, hid_report: {report_id: 3, value: {byte: 1, on: [1], off: [0]}}}}}
      - {field: noise_suppression, hid_report: {report_id: 2, value: {byte: 1, on: [1], off: [0]}}}
      - {field: echo_cancellation, hid_query: {output: ["15 00"], expect: [{byte: 0, eq: 5}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, in: [3, 5]}]}}
`

// plainHeadset is what is true of one headset by the meaning of its rules, told as plainly as possible.
// Interface 0 has reports 1 and 2, interface 1 has 3, 4 and 5.
type plainHeadset struct {
	there               [2]bool
	toggle, level, link devices.Tri
	heard               map[devices.Tri]bool // what may have been an answer since everything was forgotten
	pressed             bool                 // since everything was forgotten
	strange             bool                 // what the link told last is neither up nor down
	told                time.Time            // when the anchor spoke last
	wasUp               bool                 // its link, since its dongle was plugged in and the machine woke
}

func (h *plainHeadset) forget() {
	h.toggle, h.level, h.heard, h.pressed, h.told = devices.Unknown, devices.Unknown, map[devices.Tri]bool{}, false, time.Time{}
}

func (h *plainHeadset) takeAway(i int) {
	if h.there[i] {
		h.forget()
		h.link, h.strange, h.wasUp = devices.Unknown, false, false
	}
	h.there[i] = false
}

func (h *plainHeadset) attach(i int, plugged, waking bool) {
	h.takeAway(i)
	h.there[i] = true
	if i == 0 && plugged && !waking {
		h.toggle = devices.False
	}
}

func (h *plainHeadset) hear(i int, id byte, v devices.Tri, now time.Time) {
	if !h.there[i] || i != map[byte]int{1: 0, 2: 0, 3: 1, 4: 1, 5: 1}[id] {
		return
	}
	switch id {
	case 1:
		h.toggle, h.pressed = h.toggle.Not(), true
		if now.Sub(h.told) < hid.AskGap { // on another interface: it may have been pressed before
			h.toggle = devices.Unknown
		}
	case 2:
		h.level = v
	case 3:
		if v.Known() && h.there[0] {
			h.toggle, h.told = v, now
		}
	case 4:
		first := !v.Known() && !h.strange
		h.strange = !v.Known()
		if v == h.link {
			if first { // it may have been away since
				h.forget()
			}
			return
		}
		cameUp := h.link == devices.False && v == devices.True && !h.pressed && h.wasUp
		if h.link == devices.False || v != devices.True {
			h.forget()
		}
		h.wasUp = h.wasUp || v == devices.True
		h.link = v
		if cameUp && h.there[0] {
			h.toggle = devices.False
		}
	case 5:
		h.heard[v] = true
	}
}

// What a Tracker knows is what the plain model knows, whatever happens in whatever order: a toggle
// is known only from an anchor, and nothing that was known survives a moment of which nothing is known.
func TestTrackerKnowsWhatItMay(t *testing.T) {
	t.Parallel()
	if testlab.RanUnraced(t) { // there is one goroutine only
		return
	}
	rules := rulesOf(t, modelled)
	descriptors := [2][]byte{reports(1, 2), reports(3, 4, 5)}
	known := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		tr, now := hid.NewTracker(rules), t0
		headsets := [2]plainHeadset{}
		woke := time.Time{}
		for i := range headsets {
			headsets[i].forget()
		}
		for step := range 300 {
			now = now.Add(time.Duration(rng.IntN(400)) * time.Millisecond)
			n, i := rng.IntN(2), rng.IntN(2)
			h, node := &headsets[n], fmt.Sprintf("hidraw%d", 2*n+i)
			e := hid.Event{Node: node}
			before := tr.Readings()
			changed := false
			switch what := rng.IntN(240); what {
			case 0, 1, 2, 3:
				e.Kind, e.Plugged = hid.Attached, what > 0
				e.Device = &hid.Device{Bus: devices.USB, VID: "1209", PID: "0700", Container: fmt.Sprint("unit", n), Descriptor: descriptors[i]}
				h.attach(i, e.Plugged, now.Sub(woke) < 30*time.Second)
			case 4:
				e.Kind = hid.Gone
				h.takeAway(i)
			case 5:
				e.Kind = hid.Lost
				if h.there[i] {
					h.forget()
					h.link, h.strange = devices.Unknown, false
				}
			case 6:
				e.Kind = ""
				changed, woke = tr.Resume(now, now), now
				for i := range headsets {
					headsets[i].forget()
					headsets[i].link, headsets[i].strange, headsets[i].wasUp = devices.Unknown, false, false
				}
			default:
				id, v := byte(rng.IntN(5)+1), byte(rng.IntN(8))
				e.Kind, e.Data = hid.Report, []byte{id, v & 1}
				tri := devices.Of(v&1 == 1)
				if v == 7 {
					e.Data[1], tri = v, devices.Unknown
				}
				h.hear(i, id, tri, now)
			}
			if e.Kind != "" {
				changed = tr.Apply(e, now)
			}
			tr.Requests()
			if tr.Expire(now) {
				changed = true
			}
			where := []any{"seed %d, step %d: %+v", seed, step, e} // made into text only where something fails
			after := tr.Readings()
			if !changed && !slices.Equal(before, after) { // a million calls of require would take most of the time
				require.Equal(t, before, after, where...)
			}
			for _, r := range after {
				h := &headsets[0]
				if r.Container == "unit1" {
					h = &headsets[1]
				}
				if r.Value.Known() {
					known++
				}
				want := r.Value
				switch r.Rule {
				case "link_state[0]":
					want = h.link
				case "sources[0]":
					want = h.toggle
				case "sources[1]":
					want = h.level
				case "sources[2]":
					if r.Value.Known() && !h.heard[r.Value] {
						require.Fail(t, "nobody has said so", where...)
					}
				}
				if want != r.Value {
					require.Equal(t, want, r.Value, where...)
				}
			}
		}
	}
	require.Greater(t, known, 10_000, "it is not all unknown")
}

// A level with a debounce ends up where the device put it last, however its contact bounced.
func TestDebouncedLevelNeverSticks(t *testing.T) {
	rules := rulesOf(t, `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}, debounce_ms: 50}}]
`)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := worldOf(t, rules)
		w.happen(at("hidraw0", reports(1)))
		var last devices.Tri
		for range rng.IntN(50) + 1 {
			w.now = w.now.Add(time.Duration(rng.IntN(60)) * time.Millisecond)
			v := byte(rng.IntN(2))
			last = devices.Of(v == 1)
			w.apply(in("hidraw0", 1, v))
			if rng.IntN(2) == 0 {
				w.tr.Expire(w.now)
			}
		}
		w.now = w.now.Add(50 * time.Millisecond)
		w.tr.Expire(w.now)
		require.Equal(t, fmt.Sprintf("sources[0]=%v", last), w.states(), seed)
		require.True(t, w.tr.Due().IsZero())
	}
}
