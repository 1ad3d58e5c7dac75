package com

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGUIDsAreWrittenAsTheyAreRead(t *testing.T) {
	const text = "4460B3AE-4B44-4527-8676-7548A8ACD260"
	require.Equal(t, "{"+text+"}", MustGUID(text).String())
	require.Equal(t, GUID{0x4460B3AE, 0x4B44, 0x4527, [8]byte{0x86, 0x76, 0x75, 0x48, 0xA8, 0xAC, 0xD2, 0x60}}, MustGUID(text))
	require.Panics(t, func() { MustGUID("4460B3AE-4B44-4527-8676") })
	require.Panics(t, func() { MustGUID("nonsense") })
}

func TestFailuresAreErrors(t *testing.T) {
	for _, fine := range []HRESULT{OK, 1} { // S_FALSE
		require.NoError(t, fine.Err())
	}
	require.EqualError(t, AudioNotRunning.Err(), "the audio service does not run (0x88890010)")
	require.EqualError(t, HRESULT(0x8000FFFF).Err(), "error 0x8000FFFF")
}
