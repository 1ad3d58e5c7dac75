package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionSaysWhatListsEndpoints(t *testing.T) {
	require.Equal(t, "Core Audio alone, without miniaudio", listedBy("windows", false))
	require.Equal(t, "PulseAudio or ALSA and miniaudio", listedBy("linux", true))
	require.Equal(t, "miniaudio", listedBy("darwin", true))
}
