package hid_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two programs look up the features of a headset of HID++ that comes back, at one moment, and read each other's answers.
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
