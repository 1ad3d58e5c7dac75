package paths

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/session"
	"sidetone/internal/testlab/ipctest"
)

func TestControlAddress(t *testing.T) {
	env := func(value string) func(string) string {
		return func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": value}[name] }
	}
	got, err := ControlAddress(env("/run/user/7"), "acme")
	require.NoError(t, err)
	require.Equal(t, "/run/user/7/sidetone/acme/agent.sock", got)
	for _, unusable := range []string{"", "run/user/7", "."} {
		got, err = AgentsFolder(env(unusable))
		require.NoError(t, err)
		require.Equal(t, agentsFolder("/run/user", "/tmp"), got, unusable)
	}

	run, me := ipctest.Folder(t), session.User()
	short := "/tmp/sidetone-" + me
	require.Equal(t, short, agentsFolder(run, "/tmp"), "there is no session")
	require.NoError(t, os.Symlink(ipctest.Folder(t), filepath.Join(run, me)))
	require.Equal(t, short, agentsFolder(run, "/tmp"), "a link may be anybody's")
	require.NoError(t, os.Remove(filepath.Join(run, me)))
	require.NoError(t, os.Mkdir(filepath.Join(run, me), 0o700))
	require.Equal(t, filepath.Join(run, me, "sidetone"), agentsFolder(run, "/tmp"))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(filepath.Join(run, me), 65534, -1))
		require.Equal(t, short, agentsFolder(run, "/tmp"), "it belongs to another user")
	}
}
