package desktop

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows/registry"
)

// TestAutostart: what is started at log-in is so for one user or for all, until somebody switches it off, here or in the settings of Windows.
func TestAutostart(t *testing.T) {
	var d Desktop
	e := Entry{ID: "acme-test-tray", Name: "acme", Command: []string{`C:\Acme Audio\acmew.exe`, `--config=C:\a "b"\c.yaml`}}
	require.False(t, d.Autostarts(e))
	require.NoError(t, d.SetAutostart(e, false), "it is so already")
	require.NoError(t, d.SetAutostart(e, true))
	require.True(t, d.Autostarts(e))
	command, err := RunOfUser.Command(e.ID)
	require.NoError(t, err)
	require.Equal(t, `"C:\Acme Audio\acmew.exe" "--config=C:\a \"b\"\c.yaml"`, command)

	key, _, err := registry.CreateKey(registry.CURRENT_USER, approvedPath, registry.SET_VALUE)
	require.NoError(t, err)
	require.NoError(t, key.SetBinaryValue(e.ID, []byte{3, 0, 0, 0}))
	require.NoError(t, key.Close())
	require.False(t, d.Autostarts(e), "switched off in Windows")
	require.NoError(t, d.SetAutostart(e, true))
	require.True(t, d.Autostarts(e), "and on again here")
	require.NoError(t, d.SetAutostart(e, false))
	require.False(t, d.Autostarts(e))

	const other = `"C:\Other\other.exe" --quiet`
	for _, key := range []RunKey{RunOfUser, RunOfAll} {
		require.NoError(t, key.Set(e.ID, other))
		require.False(t, d.Autostarts(e), "another program")
		for _, on := range []bool{true, false} {
			err := d.SetAutostart(e, on)
			if key == RunOfUser {
				require.ErrorContains(t, err, key.Path(e.ID)+" starts another program already, "+other+": ")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, on, d.Autostarts(e))
		}
		command, err = key.Command(e.ID)
		require.NoError(t, err)
		require.Equal(t, other, command)
		require.NoError(t, key.Remove(e.ID))
	}

	require.NoError(t, RunOfAll.Set(e.ID, "acmew.exe"))
	defer func() { require.NoError(t, RunOfAll.Remove(e.ID)) }()
	require.True(t, d.Autostarts(e))
	require.NoError(t, d.SetAutostart(e, true))
	require.ErrorContains(t, d.SetAutostart(e, false), "for all users of this machine")
}
