package fakeusb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// telephonyReport takes the next input report of the telephony interface as a host does.
func telephonyReport(t *testing.T, h *headset) []byte {
	t.Helper()
	reports, err := h.In(t.Context(), Transfer{Endpoint: endpointTelephony, Length: 8})
	require.NoError(t, err)
	require.Len(t, reports, 1)
	return reports[0]
}

func TestPhoneMuteEncodings(t *testing.T) {
	pressed, released, unmute := []byte{1, 0x02}, []byte{1, 0x00}, []byte{1, 0x06}
	for _, c := range []struct {
		encoding PhoneMute
		input    []byte   // the item of phone mute and those before it that make it what it is
		on, off  [][]byte // what a press sends
	}{
		{"", []byte{0x09, 0x2f, 0x81, 0x06, 0x81, 0x03}, [][]byte{pressed, released}, [][]byte{pressed, released}},
		{PhoneMuteMomentary, []byte{0x09, 0x2f, 0x81, 0x06, 0x81, 0x03}, [][]byte{pressed, released}, [][]byte{pressed, released}},
		{PhoneMuteLevel, []byte{0x09, 0x2f, 0x81, 0x22, 0x81, 0x03}, [][]byte{pressed}, [][]byte{released}},
		{PhoneMuteTwoButtons, []byte{0x15, 0xff, 0x75, 0x02, 0x09, 0x2f, 0x81, 0x26}, [][]byte{pressed, released}, [][]byte{unmute, released}},
	} {
		t.Run(string(c.encoding), func(t *testing.T) {
			h := mustHeadset(t, Spec{ID: acme.ID, PhoneMute: c.encoding})
			descriptor, err := h.Control(Setup{RequestType: 0x81, Request: 6, Value: 0x2200, Index: headsetTelephony}, nil)
			require.NoError(t, err)
			require.Contains(t, string(descriptor), string(c.input))

			require.NoError(t, h.telephony.press(true))
			for _, want := range c.on {
				require.Equal(t, want, telephonyReport(t, h))
			}
			now, err := ask(t, h, hidGetReport, hidInput, 0, headsetTelephony)
			require.ErrorIs(t, err, errStall, "report 0: %v", now)
			got, err := getReport(h, hidInput, telephonyReportID)
			require.NoError(t, err)
			require.Equal(t, c.on[len(c.on)-1], got, "a level stays, a press is over")

			require.NoError(t, h.telephony.press(false))
			for _, want := range c.off {
				require.Equal(t, want, telephonyReport(t, h))
			}
			require.False(t, h.State().Muted, "the button of the telephony interface is not the feature unit's")
		})
	}
	_, err := newHeadset(Spec{ID: acme.ID, PhoneMute: "morse"})
	require.ErrorContains(t, err, `"morse"`)
}

func TestPhoneMuteNobodyReads(t *testing.T) {
	for _, encoding := range []PhoneMute{PhoneMuteMomentary, PhoneMuteLevel} {
		h := mustHeadset(t, Spec{ID: acme.ID, PhoneMute: encoding})
		var err error
		for range 100 {
			if err = h.telephony.press(true); err != nil {
				break
			}
		}
		require.ErrorIs(t, err, errNotListening)
	}
}

func TestSendReport(t *testing.T) {
	h := mustHeadset(t, acme)
	require.NoError(t, h.telephony.reports.push([]byte{1, 1}))
	require.Equal(t, []byte{1, 1}, telephonyReport(t, h))
}

func getReport(h *headset, kind, number uint8) ([]byte, error) {
	return h.Control(Setup{
		RequestType: 0xa1, Request: hidGetReport, Value: uint16(kind)<<8 | uint16(number), Index: headsetTelephony, Length: 64,
	}, nil)
}

// A test that wants to show that a program only listens looks at what the headset was asked.
func TestReportRequestsAreRecorded(t *testing.T) {
	h := mustHeadset(t, acme)
	require.Empty(t, h.State().Requests)

	_, err := ask(t, h, hidSetReport, hidOutput, 0, headsetTelephony, 1, 0x02)
	require.NoError(t, err)
	require.EqualValues(t, 0x02, h.State().Lamps)
	_, err = ask(t, h, hidSetReport, hidFeature, 0, headsetTelephony, 2, 0x55)
	require.NoError(t, err)
	got, err := getReport(h, hidFeature, settingsReportID)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 0x55}, got)
	require.Equal(t, []string{"set output 0102", "set feature 0255", "get feature 02"}, h.State().Requests)

	for _, refused := range [][]byte{{9, 2}, {1}, nil} {
		_, err = ask(t, h, hidSetReport, hidOutput, 0, headsetTelephony, refused...)
		require.ErrorIs(t, err, errStall)
	}
	_, err = getReport(h, 7, 1)
	require.ErrorIs(t, err, errStall)
	require.Equal(t, []string{"set output 0902", "set output 01", "set output ", "get type7 01"}, h.State().Requests[3:],
		"what was refused was asked for all the same")
	require.EqualValues(t, 0x02, h.State().Lamps)

	_, err = ask(t, h, hidSetIdle, 0, 0, headsetTelephony)
	require.NoError(t, err)
	require.Len(t, h.State().Requests, 7, "no report was asked for")
}
