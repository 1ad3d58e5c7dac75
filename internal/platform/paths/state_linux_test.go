package paths

import (
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
