package paths

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDownloads(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	folder := func() string {
		got, err := Downloads(func(name string) string { return env[name] })
		require.NoError(t, err)
		return got
	}
	require.Equal(t, home, folder(), "there is none")
	require.NoError(t, os.Mkdir(filepath.Join(home, "Downloads"), 0o700))
	require.Equal(t, filepath.Join(home, "Downloads"), folder())

	require.NoError(t, os.MkdirAll(filepath.Join(home, ".config"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(home, "Heruntergeladen"), 0o700))
	names := filepath.Join(home, ".config", "user-dirs.dirs")
	require.NoError(t, os.WriteFile(names, []byte("# names\nXDG_DESKTOP_DIR=\"$HOME/Desktop\"\nXDG_DOWNLOAD_DIR=\"$HOME/Heruntergeladen\"\n"), 0o600))
	require.Equal(t, filepath.Join(home, "Heruntergeladen"), folder())
	require.NoError(t, os.WriteFile(names, []byte("XDG_DOWNLOAD_DIR=\"relative\"\n"), 0o600))
	require.Equal(t, home, folder())

	require.NoError(t, os.Remove(names))
	require.NoError(t, syscall.Mkfifo(names, 0o600))
	require.Equal(t, filepath.Join(home, "Downloads"), folder(), "a pipe is not waited for")

	env["XDG_CONFIG_HOME"] = filepath.Join(home, "other")
	require.Equal(t, filepath.Join(home, "Downloads"), folder())
	env["HOME"] = "relative"
	_, err := Downloads(func(name string) string { return env[name] })
	require.Error(t, err)
}
