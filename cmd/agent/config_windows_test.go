package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Settings in %PROGRAMDATA% that anybody may have written do not count; whoever checks them is told so.
func TestConfigSaysThatSettingsAreIgnored(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "Sidetone", "config.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("engine: {removal_grace: 7s}\n"), 0o600))
	for _, verb := range []string{"check", "show"} {
		o := sidetone(t, []string{"ProgramData=" + folder}, "config", verb)
		require.Equal(t, exitOK, o.code, o.stderr)
		require.NotContains(t, o.stdout, "7s")
		require.Contains(t, o.stderr, "The administrator's settings "+file+" are ignored: ")
		require.Contains(t, o.stderr, "Have an administrator take them over")
		o = sidetone(t, []string{"ProgramData=" + folder}, "config", verb, "--config", file)
		require.Empty(t, o.stderr, "they are asked for")
	}
}
