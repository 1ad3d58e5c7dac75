package soundlab_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/soundlab"
)

func TestMissingProgramsAreNamed(t *testing.T) {
	none := func(string) (string, error) { return "", errors.New("not found") }
	all := func(name string) (string, error) { return "/bin/" + name, nil }
	for _, kind := range soundlab.Kinds {
		require.NoError(t, soundlab.Missing(kind, all))
		require.ErrorContains(t, soundlab.Missing(kind, none), "make deps")
	}
	require.ErrorContains(t, soundlab.Missing(soundlab.PulseAudio, none),
		"needs pulseaudio, pactl: run `make deps`, or install the package(s) pulseaudio, pulseaudio-utils")
	require.ErrorContains(t, soundlab.Missing(soundlab.PipeWire, func(name string) (string, error) {
		if name == "wireplumber" {
			return "", errors.New("not found")
		}
		return name, nil
	}), "needs wireplumber: run `make deps`, or install the package(s) wireplumber")
	require.ErrorContains(t, soundlab.Missing("jack", all), `"jack"`)
}

func TestOnlyOnLinux(t *testing.T) {
	for _, kind := range soundlab.Kinds {
		err := soundlab.Available(kind)
		if runtime.GOOS == "linux" {
			require.Equal(t, soundlab.Missing(kind, soundlab.LookPath), err)
		} else {
			require.ErrorContains(t, err, "Linux only")
		}
	}
}
