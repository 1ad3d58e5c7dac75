package hid_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/hid"
	"sidetone/internal/testlab"
)

// During an update two agents ask one device. It answers in a feature report what was asked last, by whichever of them, and does not say
// what that was.
func TestTwoAgentsSetAndGet(t *testing.T) {
	const product = `
    sources:
      - {field: hardware_mute, hid_query: {feature: "22 01", delay_ms: 30, expect: [{byte: 0, eq: 0x22}],
         value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}
      - {field: noise_suppression, hid_query: {feature: "22 02", delay_ms: 30, expect: [{byte: 0, eq: 0x22}],
         value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}
`
	old, next := newWorld(t, product), newWorld(t, product)
	truth := map[byte]byte{1: 0, 2: 1} // not muted, and noise suppression is on
	var set byte
	device := func(w *world) {
		for _, r := range w.tr.Requests() {
			answer := []byte{0x22, truth[set]}
			if len(r.Feature) > 1 {
				set, answer = r.Feature[1], r.Feature
			}
			w.apply(hid.Event{Kind: hid.Answer, Node: "hidraw0", Request: r.ID, Data: answer})
		}
	}
	due := func(w *world) {
		w.now = w.tr.Due()
		w.tr.Expire(w.now)
	}
	old.apply(at("hidraw0", reports(1, 2, 9)))
	for range 2 {
		device(old) // sets
		due(old)
		device(old) // gets
	}
	require.Equal(t, "sources[0]=false sources[1]=true", old.states())

	next.now = old.now.Add(time.Second)
	next.apply(at("hidraw0", reports(1, 2, 9)))
	device(next) // sets 1
	due(next)
	device(next) // gets 1
	require.Contains(t, next.states(), "sources[0]=false")
	old.now = next.now
	old.apply(in("hidraw0", 9, 1))
	device(old)  // sets 1, for its mute
	device(next) // sets 2, for its noise suppression
	due(old)
	device(old) // gets what the other one has asked for
	testlab.ExpectedFailure(t, "V7: of two agents that set and get, one takes what the other one has asked for", func(t testing.TB) {
		require.NotContains(t, old.states(), "sources[0]=true", "it was never muted")
	})
}

// Both look up the features of a headset of HID++ that comes back, at one moment, and read each other's answers.
func TestTwoAgentsLookUpFeaturesAtOneMoment(t *testing.T) {
	long := func(head ...byte) []byte { return append(head, make([]byte, 20-len(head))...) }
	const mute = `{field: hardware_mute, hidpp: {device_index: 1, feature: "0601", event: 0, read: 1, value: {byte: 0, on: [1], off: [0]}}}`
	noise := strings.NewReplacer("hardware_mute", "noise_suppression", "0601", "060e", "read: 1", "read: 0").Replace(mute)
	old := newWorld(t, "\n    sources:\n      - "+noise+"\n      - "+mute+"\n")
	next := newWorld(t, "\n    sources:\n      - "+mute+"\n      - "+noise+"\n")
	both := []*world{old, next}
	index := map[[2]byte]byte{{6, 1}: 8, {6, 0x0e}: 7} // mute, noise suppression
	value := map[byte]byte{8: 0, 7: 1}                 // not muted, and noise suppression is on
	device := func() (asked int) {
		var requests [][]byte
		for _, w := range both {
			for _, r := range w.tr.Requests() {
				requests = append(requests, r.Output)
			}
		}
		for _, q := range requests {
			a := long(q[0], q[1], q[2], q[3])
			a[4] = value[q[2]]
			if q[2] == 0 {
				a[4] = index[[2]byte{q[4], q[5]}]
			}
			for _, w := range both {
				w.now = w.now.Add(5 * time.Millisecond)
				w.apply(in("hidraw0", a...))
			}
		}
		return len(requests)
	}
	settle := func() {
		for range 100 {
			if device() == 0 {
				return
			}
		}
		require.Fail(t, "they ask without end")
	}
	old.apply(at("hidraw0", hidppReports))
	settle()
	require.Equal(t, "sources[0]=true sources[1]=false", old.states())
	old.now = old.now.Add(time.Minute)
	next.now = old.now
	next.apply(at("hidraw0", hidppReports))
	for _, w := range both {
		w.apply(in("hidraw0", 0x10, 1, 0x41, 4, 0, 0, 0)) // the headset has connected
	}
	settle()
	require.NotContains(t, old.states(), "sources[1]=true", "it was never muted")
	require.NotContains(t, next.states(), "sources[0]=true")
}
