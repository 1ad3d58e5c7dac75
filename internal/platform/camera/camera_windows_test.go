package camera

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab/standin"
)

func openCameras(t *testing.T) platform.Source {
	c, err := New("", platformtest.Quiet())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestCamerasOfWindowsAreDescribed(t *testing.T) {
	platformtest.NoLeak(t)
	c := openCameras(t)
	require.Empty(t, platformtest.MustList(t, c))
	for _, name := range []string{"Acme Cam", "📷 Acme", strings.Repeat("ü", 300)} {
		fake := standin.Camera{VID: 0x1209, PID: 0x0800, Serial: "CAM1", Container: "{11223344-5566-7788-99aa-bbccddeeff00}", Name: name}
		end := fake.Place(t)
		require.Equal(t, []devices.Endpoint{{
			ID: fake.Path(), Type: devices.VideoInput, Name: name, Bus: devices.USB, VID: "1209", PID: "0800", Serial: "CAM1",
			Container: "{11223344-5566-7788-99AA-BBCCDDEEFF00}", SeenBy: []string{"setupapi"},
		}}, platformtest.MustList(t, c))
		end()
	}
	require.Empty(t, platformtest.MustList(t, c))
}

func TestCamerasOfWindowsComeAndGo(t *testing.T) {
	platformtest.NoLeak(t)
	c := openCameras(t)
	require.Empty(t, platformtest.MustList(t, c))
	for range 2 {
		fake := standin.VirtualCamera{Name: "Acme Virtual"}
		unplug := fake.Plug(t)
		waitFor(t, c, []devices.Endpoint{{
			ID: fake.Path(), Type: devices.VideoInput, Name: "Acme Virtual", Bus: devices.Virtual, Virtual: true, SeenBy: []string{"setupapi"},
		}})
		unplug()
		waitFor(t, c, []devices.Endpoint{})
	}
}

// waitFor reads the source each time that it says so, until it lists what is wanted.
func waitFor(t *testing.T, c platform.Source, want []devices.Endpoint) {
	t.Helper()
	for {
		require.NoError(t, c.Wait(platformtest.Deadline(t)))
		if got := platformtest.MustList(t, c); len(got) == len(want) {
			require.Equal(t, want, got)
			return
		}
	}
}

func TestCamerasOfWindowsEndTheirWait(t *testing.T) {
	platformtest.NoLeak(t)
	c := openCameras(t)
	require.NoError(t, c.Close())
	require.Error(t, c.Wait(t.Context()))
}
