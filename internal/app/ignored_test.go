package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
)

// Where anybody may have written the administrator's settings they do not count, and the status says so.
func TestSettingsThatAreIgnoredAreACondition(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("engine: {removal_grace: 7s}\n"), 0o600))
	from := config.Options{SystemFile: file, Refused: errors.New("it belongs to user S-1-5-21-7")}
	loaded, err := Load(from, Host{})
	require.NoError(t, err)
	require.Equal(t, config.Default().Engine, loaded.Config.Engine, "it is not read")
	healthtest.Raised(t, *loaded.Ignored)

	set := bareSettings(t)
	set.Ignored = loaded.Ignored
	found := func() (said []control.Condition) {
		for _, c := range startApp(t, Options{Settings: set}).Status().Conditions {
			if c.Code == health.SettingsIgnored {
				said = append(said, c)
			}
		}
		return said
	}()
	require.Len(t, found, 1)
	require.Contains(t, found[0].Message, "config.yaml are ignored: it belongs to user S-1-5-21-7")

	from.Refused = nil
	loaded, err = Load(from, Host{})
	require.NoError(t, err)
	require.Nil(t, loaded.Ignored)
	require.NotEqual(t, config.Default().Engine, loaded.Config.Engine)
	require.Nil(t, Ignored(config.Options{SystemFile: file, Explicit: file, Refused: errors.New("x")}), "it is not asked for")
}
