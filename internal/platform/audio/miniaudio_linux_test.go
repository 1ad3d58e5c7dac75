//go:build cgo

package audio

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform/platformtest"
)

// TestMiniaudioListsWhatALSAHas, with ALSA's own library on settings of the test's. It opens none of them: this PCM would make a file.
func TestMiniaudioListsWhatALSAHas(t *testing.T) {
	path, opened := filepath.Join(t.TempDir(), "alsa.conf"), filepath.Join(t.TempDir(), "opened")
	t.Setenv("ALSA_CONFIG_PATH", path)
	settings := `pcm.hw {
	@args [ CARD DEV ]
	@args.CARD { type string default "0" }
	@args.DEV { type integer default 0 }
	type file
	slave.pcm { type null }
	file "` + opened + `"
	hint { show on description "Acme Headset 700, USB Audio
Direct hardware device without any conversions" }
}
pcm."hw:CARD=Headset,DEV=0" { type null }
pcm.null { type null hint { show on description "Discard all samples" } }
`
	require.NoError(t, os.WriteFile(path, []byte(settings), 0o600))
	a, _ := quietMachine(t, nil)
	a.alsa.pcms = miniaudioLister()
	list := platformtest.MustList(t, a)
	require.Len(t, list, 2)
	for _, typ := range []devices.Type{devices.AudioInput, devices.AudioOutput} {
		e := find(devices.Observation{Endpoints: list}, typ, "hw:CARD=Headset,DEV=0")
		require.NotNil(t, e)
		require.Equal(t, "Acme Headset 700, USB Audio", e.Name)
	}
	require.NoFileExists(t, opened)
}
