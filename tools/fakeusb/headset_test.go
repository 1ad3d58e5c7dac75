package fakeusb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// ask sends a class request to an interface.
func ask(t *testing.T, d Device, request, selector, entity, iface uint8, data ...byte) ([]byte, error) {
	t.Helper()
	requestType := uint8(0x21)
	if request&0x80 != 0 || request == hidGetReport && data == nil {
		requestType = 0xa1
	}
	return d.Control(Setup{
		RequestType: requestType, Request: request, Value: uint16(selector) << 8, Index: uint16(entity)<<8 | uint16(iface),
	}, data)
}

func TestVolume(t *testing.T) {
	h := mustHeadset(t, acme)
	for request, want := range map[uint8][]byte{
		getCurrent:    {0, 0},
		getMinimum:    {0x00, 0xc4}, // -60 dB
		getMaximum:    {0, 0},
		getResolution: {0, 1},
	} {
		got, err := ask(t, h, request, controlVolume, entitySpeakerFeature, headsetControl)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ask(t, h, setCurrent, controlVolume, entitySpeakerFeature, headsetControl, 0x00, 0xf6)
	require.NoError(t, err)
	got, err := ask(t, h, getCurrent, controlVolume, entitySpeakerFeature, headsetControl)
	require.NoError(t, err)
	require.Equal(t, []byte{0x00, 0xf6}, got)
}

func TestRefusedFeatureRequests(t *testing.T) {
	h := mustHeadset(t, acme)
	for name, c := range map[string]struct {
		request, selector, entity, iface uint8
		data                             []byte
	}{
		"unknown unit":        {getCurrent, controlMute, 99, headsetControl, nil},
		"no gain control":     {getCurrent, controlGain, entityMicrophoneFeature, headsetControl, nil},
		"volume of one byte":  {setCurrent, controlVolume, entityMicrophoneFeature, headsetControl, []byte{1}},
		"mute of two bytes":   {setCurrent, controlMute, entityMicrophoneFeature, headsetControl, []byte{1, 0}},
		"minimum of a switch": {getMinimum, controlMute, entityMicrophoneFeature, headsetControl, nil},
		"unknown request":     {0x8f, controlVolume, entityMicrophoneFeature, headsetControl, nil},
		"streaming interface": {getCurrent, controlMute, entityMicrophoneFeature, headsetCapture, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, h, c.request, c.selector, c.entity, c.iface, c.data...)
			require.ErrorIs(t, err, errStall)
		})
	}
}

func TestMuteFromBothSides(t *testing.T) {
	h := mustHeadset(t, acme)
	_, err := ask(t, h, setCurrent, controlMute, entityMicrophoneFeature, headsetControl, 1)
	require.NoError(t, err)
	require.True(t, h.State().Muted)

	require.NoError(t, h.turn(microphoneMute, false))
	status, err := h.In(t.Context(), Transfer{Endpoint: endpointStatus, Length: 2})
	require.NoError(t, err)
	require.Equal(t, [][]byte{{0x80, entityMicrophoneFeature}}, status)
	got, err := ask(t, h, getCurrent, controlMute, entityMicrophoneFeature, headsetControl)
	require.NoError(t, err)
	require.Equal(t, []byte{0}, got)
}

func TestGainControl(t *testing.T) {
	require.Error(t, mustHeadset(t, acme).turn(microphoneGain, true))

	h := mustHeadset(t, Spec{ID: acme.ID, GainControl: true})
	require.NoError(t, h.turn(microphoneGain, true))
	require.True(t, h.State().GainControl)
	_, err := ask(t, h, setCurrent, controlGain, entityMicrophoneFeature, headsetControl, 0)
	require.NoError(t, err)
	require.False(t, h.State().GainControl)
}

func TestStatusNobodyReads(t *testing.T) {
	h := mustHeadset(t, acme)
	var err error
	for range 100 {
		if err = h.turn(microphoneMute, true); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, errNotListening)
}

func TestMutedMicrophoneSendsSilence(t *testing.T) {
	h := mustHeadset(t, acme)
	capture := Transfer{Endpoint: endpointCapture, Length: 3 * 96, Packets: 3}
	sound, err := h.In(t.Context(), capture)
	require.NoError(t, err)
	require.Len(t, sound, 3)
	require.Len(t, sound[0], 96)
	require.NotEqual(t, make([]byte, 96), sound[0])

	require.NoError(t, h.turn(microphoneMute, true))
	sound, err = h.In(t.Context(), capture)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 96), sound[2])
}

func TestHeadsetTransfersEndWithTheirContext(t *testing.T) {
	h := mustHeadset(t, acme)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, endpoint := range []uint8{endpointCapture, endpointStatus, endpointTelephony} {
		_, err := h.In(ended, Transfer{Endpoint: endpoint, Length: 96, Packets: 1000})
		require.ErrorIs(t, err, context.Canceled)
	}
	require.ErrorIs(t, h.Out(ended, Transfer{Endpoint: endpointPlayback, Packets: 1000}, nil), context.Canceled)
	_, err := h.In(t.Context(), Transfer{Endpoint: 9})
	require.ErrorIs(t, err, errStall)
	require.ErrorIs(t, h.Out(t.Context(), Transfer{Endpoint: 9}, nil), errStall)
}
