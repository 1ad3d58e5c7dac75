package paths

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStateFolder(t *testing.T) {
	env := map[string]string{"HOME": "/home/me", "XDG_STATE_HOME": "/state"}
	getenv := func(name string) string { return env[name] }
	for _, want := range []string{"/state", "/home/me/.local/state"} {
		got, err := StateFolder(getenv, "sidetone", "acme")
		require.NoError(t, err)
		require.Equal(t, want+"/sidetone/acme", got)
		got, err = StateFolder(getenv, "acme-agent", "acme")
		require.NoError(t, err)
		require.Equal(t, want+"/acme-agent", got)
		env["XDG_STATE_HOME"] = "relative"
	}
	env["HOME"] = ""
	_, err := StateFolder(getenv, "sidetone", "acme")
	require.Error(t, err)
}

// TestSessionFolder: what is below /tmp stays when the user logs out.
func TestSessionFolder(t *testing.T) {
	got, err := SessionFolder(func(string) string { return "/run/user/7" }, "acme")
	require.NoError(t, err)
	require.Equal(t, "/run/user/7/sidetone/acme", got)
	_, err = SessionFolder(func(string) string { return "" }, "acme")
	if folder := agentsFolder("/run/user", "/tmp"); folder[:5] == "/tmp/" {
		require.ErrorIs(t, err, errors.ErrUnsupported)
	} else {
		require.NoError(t, err)
	}
}
