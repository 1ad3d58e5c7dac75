package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/testlab"
)

// TestUnreadableCatalogue runs as somebody who may not read the file: root may read them all.
func TestUnreadableCatalogue(t *testing.T) {
	t.Parallel()
	file := acme(t, "schema: 1", "schema: 1")
	require.NoError(t, os.Chmod(file, 0))
	folder := filepath.Dir(file)
	for _, f := range []string{folder, filepath.Dir(folder)} { // the file itself is what cannot be read
		require.NoError(t, os.Chmod(f, 0o755))
	}
	cmd := racedChild(t, privateEnv(t, nil, "HOME=/nonexistent", "XDG_CONFIG_HOME="), "run", "--catalogue", file)
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd.Path = "/proc/self/exe" // the folder of this binary may be root's alone
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	isBadInput(t, runToEnd(t, cmd), file, "permission denied")
}

// TestDevicesRoundTrip makes an endpoint file of what 'devices' shows. With it, and without
// the sound server, the same must be reported.
func TestDevicesRoundTrip(t *testing.T) {
	t.Parallel()
	testlab.ForEachSound(t, func(t *testing.T, sound *testlab.SoundServer) {
		t.Parallel()
		d := newDesk(t, sound)
		hs := d.plug(headset700)
		d.mute(hs, true)
		_, err := sound.LoadModule(d.ctx, "module-echo-cancel", "source_master="+hs.SourceName, "sink_master="+hs.SinkName, "source_name=acme.echo-cancel")
		require.NoError(t, err)
		look := func(settings ...string) deviceAnswer {
			t.Helper()
			env := privateEnv(t, sound.Env(), append(settings, "SIDETONE_CATALOGUE="+d.catalogue)...)
			o := runToEnd(t, child(t, env, "devices", "--json"))
			require.Equal(t, exitOK, o.code, o.stderr)
			require.Empty(t, o.stderr)
			var a deviceAnswer
			require.NoError(t, json.Unmarshal([]byte(o.stdout), &a))
			return a
		}
		live := look("SIDETONE_SOURCES_CAMERA=false")
		require.Len(t, live.Devices, 3, "the pair and the cleaned microphone")
		require.NoError(t, sound.Kill())

		file := write(t, "endpoints.json", text(map[string]any{"endpoints": live.Endpoints}))
		filed := look("SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_FILES="+file)
		require.Equal(t, wire(live), wire(filed))
		require.Len(t, filed.Withheld, len(live.Withheld))
	})
}

func wire(a deviceAnswer) []devices.Device { return devices.Snapshot{Devices: a.Devices}.Wire() }
