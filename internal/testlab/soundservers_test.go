package testlab_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

func TestMissingProgramsAreNamed(t *testing.T) {
	none := func(string) (string, error) { return "", errors.New("not found") }
	all := func(name string) (string, error) { return "/bin/" + name, nil }
	for _, kind := range testlab.SoundKinds {
		require.NoError(t, testlab.Missing(kind, all))
		require.ErrorContains(t, testlab.Missing(kind, none), "make deps")
	}
	require.ErrorContains(t, testlab.Missing(testlab.PipeWire, none),
		"needs pipewire, wireplumber, pipewire-pulse, dbus-daemon: run `make deps`, or install the package(s) dbus, pipewire, pipewire-pulse, wireplumber")
	require.ErrorContains(t, testlab.Missing(testlab.PipeWire, func(name string) (string, error) {
		if name == "wireplumber" {
			return "", errors.New("not found")
		}
		return name, nil
	}), "needs wireplumber: run `make deps`, or install the package(s) wireplumber")
	require.ErrorContains(t, testlab.Missing("jack", all), `"jack"`)
}

func TestOnlyOnLinux(t *testing.T) {
	for _, kind := range testlab.SoundKinds {
		err := testlab.SoundAvailable(kind)
		if runtime.GOOS == "linux" {
			require.Equal(t, testlab.Missing(kind, testlab.LookPath), err)
		} else {
			require.ErrorContains(t, err, "Linux only")
		}
	}
}
