package hid_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLevelDebounce(t *testing.T) {
	const ms = time.Millisecond
	w := newWorld(t, `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}, debounce_ms: 50}}]
`)
	w.happen(at("hidraw0", reports(1)))
	say := func(after time.Duration, v byte) string {
		w.now = w.now.Add(after)
		w.apply(in("hidraw0", 1, v))
		return w.states()
	}
	require.Equal(t, "sources[0]=unknown", say(0, 1))
	require.Equal(t, w.now.Add(50*ms), w.tr.Due())
	due := w.tr.Due()
	require.Equal(t, "sources[0]=unknown", say(20*ms, 1))
	require.Equal(t, due, w.tr.Due(), "it has lasted since it was first said")
	require.Equal(t, "sources[0]=true", w.expire())
	require.Equal(t, due, w.tr.Readings()[0].Since)
	require.True(t, w.tr.Due().IsZero())

	say(ms, 0)
	require.Equal(t, "sources[0]=true", say(10*ms, 1), "it flips back")
	require.True(t, w.tr.Due().IsZero())
	say(ms, 0)
	require.Equal(t, "sources[0]=true", say(60*ms, 0), "due, but nobody has called Expire yet")
	require.Equal(t, "sources[0]=false", w.expire())
	say(ms, 9)
	require.Equal(t, "sources[0]=unknown", w.expire(), "it says that it is neither")
	say(ms, 1)
	require.Equal(t, "sources[0]=unknown", w.happen(lost("hidraw0")))
	require.True(t, w.tr.Due().IsZero(), "it was before the loss")
	require.Equal(t, "sources[0]=unknown", say(ms, 1))
	require.False(t, w.tr.Expire(w.now), "not yet")
	require.Equal(t, "sources[0]=true", w.expire())
}

// Level says what holds: values that mean neither are no longer known, reports without the byte say nothing.
func TestLevel(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}}}
      - {field: noise_suppression, hid_report: {report_id: 1, when: [{byte: 2, mask: 0xf0, min: 0x20, max: 0x30}], value: {byte: 2, mask: 0x0f, off: [3], invert: true}}}
`)
	w.happen(at("hidraw0", reports(1)))
	for i, c := range []struct {
		data []byte
		want string
	}{
		{[]byte{1, 1}, "sources[0]=true sources[1]=unknown"},
		{[]byte{1}, "sources[0]=true sources[1]=unknown"},
		{[]byte{1, 0, 0x13}, "sources[0]=false sources[1]=unknown"},
		{[]byte{1, 9, 0x23}, "sources[0]=unknown sources[1]=true"},
		{[]byte{1, 1, 0x34}, "sources[0]=true sources[1]=false"},
		{[]byte{1, 1, 0x43}, "sources[0]=true sources[1]=false"},
	} {
		require.Equal(t, c.want, w.happen(in("hidraw0", c.data...)), i)
	}
	since := w.tr.Readings()[0].Since
	w.happen(in("hidraw0", 1, 1))
	require.Equal(t, since, w.tr.Readings()[0].Since, "for as long as it holds")
}

// A descriptor that declares eight bits and names two makes padding of the others, as a person reads it, and seven mutes
// of them by the letter. Where they disagree nobody knows which is meant.
func TestFieldsThatDisagree(t *testing.T) {
	d := []byte{
		0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x85, 0x01, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x08, // Telephony: a headset; 8 bits
		0x09, 0x20, 0x09, 0x2f, 0x81, 0x22, 0xc0, // Hook Switch, Phone Mute
	}
	w := newWorld(t, "\n    sources: [{field: hardware_mute, hid_usage: {}}]\n")
	w.happen(at("hidraw0", d))
	for _, c := range []struct {
		bits byte
		want string
	}{{0x00, "false"}, {0x02, "unknown"}, {0x01, "false"}, {0xfe, "true"}, {0xaa, "unknown"}} {
		require.Equal(t, "sources[0]="+c.want, w.happen(in("hidraw0", 1, c.bits)), "%#02x", c.bits)
	}
}
