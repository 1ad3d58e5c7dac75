package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionSaysWhatListsEndpoints(t *testing.T) {
	require.Equal(t, "Core Audio", listedBy("windows", false))
	require.Equal(t, "PulseAudio, or ALSA by miniaudio", listedBy("linux", true))
	require.Equal(t, "PulseAudio", listedBy("linux", false))
	require.Equal(t, "none", listedBy("darwin", false))
}
