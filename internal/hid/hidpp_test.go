package hid_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// A receiver tells that its headset was switched off and on: what that had told before may be over.
func TestReceiverTellsThatItsHeadsetHasComeOrGone(t *testing.T) {
	for _, read := range []bool{true, false} {
		rule := "feature: \"0601\", event: 0, device_index: 1, value: {byte: 0, on: [1], off: [0]}"
		if read {
			rule += ", read: 1"
		}
		w := newWorld(t, "\n    sources: [{field: hardware_mute, hidpp: {"+rule+"}}]\n")
		w.happen(at("hidraw0", hidppReports))
		require.NotEmpty(t, w.asked())
		w.happen(long(0x11, 1, 0, w.programID, 7))
		w.asked()
		require.Equal(t, "sources[0]=true", w.happen(long(0x11, 1, 7, 0x00, 1)))
		w.happen(long(0x11, 1, 7, 0x10|w.programID, 1))
		require.Empty(t, w.asked())
		require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 0x10, 2, 0x41, 4, 0, 0, 0)), "another one")
		require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", 0x10, 1, 0x41, 4, 0x40, 0, 0)), "it is out of reach")
		require.NotEmpty(t, w.asked())
		require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", 0x10, 1, 0x8f, 0, w.programID, 4, 0)))
		w.happen(in("hidraw0", 0x10, 1, 0x41, 4, 0, 0, 0))
		require.NotEmpty(t, w.asked())
		require.Equal(t, "sources[0]=unknown", w.happen(long(0x11, 1, 0, w.programID, 7)))
		if read {
			require.Equal(t, "sources[0]=false", w.happen(long(0x11, 1, 7, 0x10|w.programID, 0)))
		}
	}
}

// hidppReports declares HID++'s two reports, in both directions.
var hidppReports = []byte{
	0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08,
	0x85, 0x10, 0x95, 6, 0x09, 0x01, 0x81, 0x00, 0x09, 0x01, 0x91, 0x00,
	0x85, 0x11, 0x95, 19, 0x09, 0x02, 0x81, 0x00, 0x09, 0x02, 0x91, 0x00, 0xc0,
}

// long is a long report of HID++.
func long(head ...byte) hid.Event {
	return in("hidraw0", append(head, make([]byte, hid.HIDPPLength-len(head))...)...)
}

// A headset that wakes up late answers the lookup of one rule while another rule looks up its own feature. The index of the one is not
// taken for that of the other, whose functions might set something.
func TestLateLookupOfAnotherRule(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: noise_suppression, hidpp: {feature: "060e", event: 0, read: 0, value: {byte: 0, on: [1], off: [0]}}}
      - {field: echo_cancellation, hidpp: {feature: "0601", event: 0, read: 1, value: {byte: 0, on: [1], off: [0]}}}
`)
	w.happen(at("hidraw0", hidppReports))
	require.Contains(t, w.asked(), "06 0e", "where is noise suppression?")
	late := w.programID
	w.expire()
	require.Contains(t, w.asked(), "06 01", "where is echo cancellation?")
	require.NotEqual(t, late, w.programID)
	w.apply(long(0x11, 0xff, 0, late, 7))
	require.Empty(t, w.asked(), "noise suppression is at 7, not echo cancellation")
	w.apply(long(0x11, 0xff, 0, w.programID, 8))
	require.Contains(t, w.asked(), "11 ff 08 1", "read echo cancellation")
	w.apply(long(0x11, 0xff, 8, 0x10|w.programID, 0))
	require.Equal(t, "sources[0]=unknown sources[1]=false", w.happen(long(0x11, 0xff, 7, 0x00, 1)), "noise suppression is on")
}

// Two programs look up features with the same software id at the same moment, as 1 of 15 pairs do. One of the two answers is not ours.
func TestTwoAnswersToOneLookup(t *testing.T) {
	w := newWorld(t, "\n    sources: [{field: hardware_mute, hidpp: {feature: \"0601\", event: 0, read: 1, value: {byte: 0, on: [1], off: [0]}}}]\n")
	w.tr.SetSoftwareID(15)
	w.happen(at("hidraw0", hidppReports))
	w.asked()
	require.EqualValues(t, 15, w.programID)
	w.happen(long(0x11, 0xff, 0, 15, 7))
	require.Contains(t, w.asked(), "11 ff 07 1f")
	w.happen(long(0x11, 0xff, 7, 0x1f, 1))
	require.Equal(t, "sources[0]=unknown", w.happen(long(0x11, 0xff, 0, 15, 8)))
	require.Contains(t, w.asked(), "11 ff 00 01 06 01", "once more, with the next software id")
	w.happen(long(0x11, 0xff, 0, 1, 8))
	require.Contains(t, w.asked(), "11 ff 08 11")
	require.Equal(t, "sources[0]=false", w.happen(long(0x11, 0xff, 8, 0x11, 0)))
	require.Equal(t, "sources[0]=false", w.happen(long(0x11, 0xff, 0, 1, 8)), "the same again says nothing new")
	require.Empty(t, w.asked())
}

// What the device answers another program that reads or sets the feature is as true as an event.
func TestHIDPPAnswersToOtherPrograms(t *testing.T) {
	w := newWorld(t, "\n    sources: [{field: hardware_mute, hidpp: {feature: \"0601\", event: [0, 3], read: 1, value: {byte: 0, on: [1], off: [0]}}}]\n")
	w.happen(at("hidraw0", hidppReports))
	w.asked()
	w.happen(long(0x11, 0xff, 0, w.programID, 8))
	w.asked()
	w.happen(long(0x11, 0xff, 8, 0x10|w.programID, 0))
	for _, c := range []struct {
		function, state byte
		want            string
	}{
		{0x00, 1, "true"},
		{0x12, 0, "false"},
		{0x02, 1, "true"},
		{0x30, 0, "false"},
		{0x3a, 1, "true"},
		{0x20, 0, "true"},
		{0x2a, 0, "true"},
		{0x10, 0, "true"},
		{0x1a, 0, "false"},
	} {
		require.Equal(t, "sources[0]="+c.want, w.happen(long(0x11, 0xff, 8, c.function, c.state)), "%#02x", c.function)
	}
	require.Empty(t, w.asked())
}

// An answer that comes after its time-out may be to any of the requests that it fits.
func TestAnswerAfterItsTimeout(t *testing.T) {
	cat, problems := catalogue.Decode("test.yaml", []byte(head+`
    sources:
      - {field: noise_suppression, hid_query: {output: ["11 02"], expect: [{byte: 0, eq: 2}], value: {byte: 1}, ask_on: [{byte: 0, eq: 9}]}}
      - {field: echo_cancellation, hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 1}], value: {byte: 1}, ask_on: [{byte: 0, eq: 9}]}}
`))
	require.Empty(t, problems)
	sources := cat.Products[0].Sources
	sources[0].HIDQuery.Expect = sources[1].HIDQuery.Expect // which only catalogues in old recordings may have
	w := worldOf(t, catalogue.HIDRules(cat, devices.Linux))
	w.happen(at("hidraw0", reports(1, 9)))
	require.Equal(t, "hidraw0 output 11 02", w.asked())
	w.expire()
	require.Equal(t, question, w.asked())
	w.apply(in("hidraw0", 1, 1)) // noise suppression is on
	require.Equal(t, "sources[0]=unknown sources[1]=unknown", w.states())
	require.Equal(t, question, w.asked(), "once more")
	w.apply(in("hidraw0", 1, 0)) // echo cancellation is off, says the answer to the first of the two questions
	require.Equal(t, "sources[0]=unknown sources[1]=false", w.states())
	w.quiet("that is known now")
}

// What is cut off, or says that it is longer than it is, states nothing.
func TestCenturionReportsCutOff(t *testing.T) {
	w := newWorld(t, "\n    sources: [{field: hardware_mute, hidpp: {framing: centurion, feature: \"0601\", event: 0, value: {byte: 0, on: [1], off: [0]}}}]\n")
	w.happen(at("hidraw0", []byte{
		0x06, 0xa0, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x85, 0x51, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 63, 0x09, 0x01, 0x81, 0x00,
		0x09, 0x01, 0x91, 0x00, 0xc0,
	}))
	for _, report := range [][]byte{
		{0x51, 6, 0, 0, 0x0d, 3, 0, 0}, {0x51, 11, 0, 3, 0x10, 0, 6, 0, 0, 0x0d, 8, 0, 0}, {0x51, 9, 0, 3, 0x10, 0, 4, 0xff, 8, 0, 1},
	} {
		whole := len(report)
		if report[1] != 9 {
			whole -= 2 // type and version are not read
		}
		for n := range whole {
			require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", report[:n]...)), "% x", report[:n])
		}
		w.happen(in("hidraw0", report...))
	}
	require.Equal(t, "sources[0]=true", w.states())
	for i := range 8 {
		report := []byte{0x51, 9, 0, 3, 0x10, 0, 4, 0xff, 8, 0, 0}
		report[i] ^= 0x21
		w.happen(in("hidraw0", report...))
		if i != 1 { // the bridge's own size counts
			require.Equal(t, "sources[0]=true", w.states(), "% x", report)
		} else {
			w.happen(in("hidraw0", 0x51, 9, 0, 3, 0x10, 0, 4, 0xff, 8, 0, 1))
		}
	}
}
