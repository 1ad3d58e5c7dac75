package paths

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStateFolder(t *testing.T) {
	env := map[string]string{"LOCALAPPDATA": `C:\Data`}
	getenv := func(name string) string { return env[name] }
	got, err := StateFolder(getenv, "sidetone", "acme")
	require.NoError(t, err)
	require.Equal(t, `C:\Data\Sidetone\acme`, got)
	got, err = LogFile(getenv, "acme-agent", "acme")
	require.NoError(t, err)
	require.Equal(t, `C:\Data\acme-agent\agent.log`, got)
	clear(env)
	got, err = StateFolder(getenv, "sidetone", "acme")
	require.NoError(t, err)
	require.Regexp(t, `\\AppData\\Local\\Sidetone\\acme$`, got, "as Windows has it")
}
