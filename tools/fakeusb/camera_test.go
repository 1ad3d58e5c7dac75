package fakeusb

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStreamNegotiation(t *testing.T) {
	c := mustCamera(t, acme)
	const probeLength = 34
	for _, selector := range []uint8{controlProbe, controlCommit} {
		p, err := ask(t, c, getCurrent, selector, 0, cameraStreaming)
		require.NoError(t, err)
		require.Len(t, p, probeLength)
		require.EqualValues(t, 160*120*2, binary.LittleEndian.Uint32(p[18:]), "frame size")
		require.EqualValues(t, 16384, binary.LittleEndian.Uint32(p[22:]), "payload size")
		_, err = ask(t, c, setCurrent, selector, 0, cameraStreaming, p...)
		require.NoError(t, err)
		length, err := ask(t, c, getLength, selector, 0, cameraStreaming)
		require.NoError(t, err)
		require.Equal(t, []byte{probeLength, 0}, length)
	}
	_, err := ask(t, c, 0x99, controlProbe, 0, cameraStreaming)
	require.ErrorIs(t, err, errStall)
}

func TestPrivacyControl(t *testing.T) {
	c := mustCamera(t, acme)
	for _, closed := range []byte{1, 0} {
		require.NoError(t, c.operate(Command{Do: DoShutter, On: closed == 1}))
		status, err := c.In(t.Context(), Transfer{Endpoint: endpointCameraStatus, Length: 16})
		require.NoError(t, err)
		require.Equal(t, [][]byte{{1, entityCamera, 0, controlPrivacy, 0, closed}}, status)
		value, err := ask(t, c, getCurrent, controlPrivacy, entityCamera, cameraControl)
		require.NoError(t, err)
		require.Equal(t, []byte{closed}, value)
		require.Equal(t, closed == 1, c.State().ShutterClosed)
	}
	_, err := ask(t, c, setCurrent, controlPrivacy, entityCamera, cameraControl, 1)
	require.ErrorIs(t, err, errStall, "only the shutter moves it")
	code, err := ask(t, c, getCurrent, controlErrorCode, 0, cameraControl)
	require.NoError(t, err)
	require.Equal(t, []byte{errorInvalidControl}, code)
	_, err = ask(t, c, getCurrent, controlPrivacy, entityCameraStream, cameraControl)
	require.ErrorIs(t, err, errStall)
}

func TestFramesAreCutIntoPayloads(t *testing.T) {
	c := mustCamera(t, acme)
	const (
		endOfFrame = 0x02
		frameBit   = 0x01
	)
	for frame := range 2 {
		size := 0
		for last := false; !last; {
			parts, err := c.In(t.Context(), Transfer{Endpoint: endpointVideo, Length: 10000})
			require.NoError(t, err)
			payload := parts[0]
			require.LessOrEqual(t, len(payload), 10000)
			require.EqualValues(t, 2, payload[0], "header length")
			require.EqualValues(t, frame, payload[1]&frameBit)
			last = payload[1]&endOfFrame != 0
			size += len(payload) - 2
		}
		require.Equal(t, frameSize, size)
	}
}

func TestCameraTransfersEndWithTheirContext(t *testing.T) {
	c := mustCamera(t, acme)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, endpoint := range []uint8{endpointCameraStatus, endpointVideo} {
		_, err := c.In(ended, Transfer{Endpoint: endpoint, Length: 512})
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err := c.In(t.Context(), Transfer{Endpoint: endpointVideo, Length: 2})
	require.Error(t, err, "no room for a header")
	_, err = c.In(t.Context(), Transfer{Endpoint: 9})
	require.ErrorIs(t, err, errStall)
	require.ErrorIs(t, c.Out(t.Context(), Transfer{Endpoint: 1}, nil), errStall)
}
