package audio

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab"
)

// TestAudioFindsTheServerLikeItsLibrary: the socket of a user who has none in his runtime folder is named in client.conf, or is that of a
// server for all users. A server that ends and comes elsewhere is found there.
func TestAudioFindsTheServerLikeItsLibrary(t *testing.T) {
	platformtest.NoLeak(t)
	s, err := testlab.StartSound(platformtest.Deadline(t), testlab.PulseAudio)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	root := t.TempDir()
	native := filepath.Join(root, "user", "pulse", "native")
	o := Options{Etc: filepath.Join(root, "etc"), Run: filepath.Join(root, "run"), Getenv: func(name string) string {
		return map[string]string{"HOME": root, "XDG_RUNTIME_DIR": filepath.Join(root, "user")}[name]
	}}
	require.NoError(t, os.MkdirAll(filepath.Dir(native), 0o700))
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: native, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	connected := func(o devices.Observation) bool { return o.Err == nil }

	t.Run("client.conf", func(t *testing.T) {
		conf := filepath.Join(root, ".config", "pulse", "client.conf")
		require.NoError(t, os.MkdirAll(filepath.Dir(conf), 0o700))
		require.NoError(t, os.WriteFile(conf, []byte("default-server = unix:"+s.Socket()+"\n"), 0o600))
		watch(t, newSource(o)).until("the server that client.conf names", connected)
		require.NoError(t, os.WriteFile(conf, []byte("default-server = tcp:studio\n"), 0o600))
		o := watch(t, newSource(o)).until("the refusal", func(o devices.Observation) bool { return o.Err != nil })
		require.ErrorContains(t, o.Err, conf+" names no sound server of this machine")
		require.NoError(t, os.Remove(conf))
	})
	t.Run("a server for all users", func(t *testing.T) {
		f := watch(t, newSource(o))
		seen := f.until("none yet", func(o devices.Observation) bool { return o.Err != nil })
		require.ErrorContains(t, seen.Err, native, "the user's own is missed first")
		shared := filepath.Join(o.Run, "pulse", "native")
		require.NoError(t, os.MkdirAll(filepath.Dir(shared), 0o700))
		require.NoError(t, os.Symlink(s.Socket(), shared))
		f.until("the server for all users, beside a socket that nobody serves", connected)
	})
}
