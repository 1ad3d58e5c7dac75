package hid_test

import (
	"testing"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

// A receiver tells that its headset was switched off and on: what that had told before may be over.
func TestReceiverTellsThatItsHeadsetHasComeOrGone(t *testing.T) {
	long := func(head ...byte) []byte { return append(head, make([]byte, hid.HIDPPLength-len(head))...) }
	for _, read := range []bool{true, false} {
		rule := "feature: \"0601\", event: 0, device_index: 1, value: {byte: 0, on: [1], off: [0]}"
		if read {
			rule += ", read: 1"
		}
		w := newWorld(t, "\n    sources: [{field: hardware_mute, hidpp: {"+rule+"}}]\n")
		w.happen(at("hidraw0", hidppReports))
		require.NotEmpty(t, w.asked())
		w.happen(in("hidraw0", long(0x11, 1, 0, hid.HIDPPSoftware, 7)...))
		w.asked()
		require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", long(0x11, 1, 7, 0x00, 1)...)))
		w.happen(in("hidraw0", long(0x11, 1, 7, 0x10|hid.HIDPPSoftware, 1)...))
		require.Empty(t, w.asked())
		require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 0x10, 2, 0x41, 4, 0, 0, 0)), "another one")
		require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", 0x10, 1, 0x41, 4, 0x40, 0, 0)), "it is out of reach")
		require.NotEmpty(t, w.asked())
		require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", 0x10, 1, 0x8f, 0, hid.HIDPPSoftware, 4, 0)))
		w.happen(in("hidraw0", 0x10, 1, 0x41, 4, 0, 0, 0))
		require.NotEmpty(t, w.asked())
		require.Equal(t, "sources[0]=unknown", w.happen(in("hidraw0", long(0x11, 1, 0, hid.HIDPPSoftware, 7)...)))
		if read {
			require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", long(0x11, 1, 7, 0x10|hid.HIDPPSoftware, 0)...)))
		}
	}
}

// hidppReports declares HID++'s two reports, in both directions.
var hidppReports = []byte{
	0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08,
	0x85, 0x10, 0x95, 6, 0x09, 0x01, 0x81, 0x00, 0x09, 0x01, 0x91, 0x00,
	0x85, 0x11, 0x95, 19, 0x09, 0x02, 0x81, 0x00, 0x09, 0x02, 0x91, 0x00, 0xc0,
}
