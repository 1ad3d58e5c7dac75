//go:build unix

package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
)

// TestPauseThatCannotBeKept is refused: what is in force stays in force, and is what the next start finds.
func TestPauseThatCannotBeKept(t *testing.T) {
	a := startApp(t, Options{Settings: bareSettings(t)})
	file, err := a.pauseFile()
	require.NoError(t, err)
	folder := filepath.Dir(string(file))
	block := func() {
		require.NoError(t, os.Rename(folder, folder+"-aside"))
		require.NoError(t, os.WriteFile(folder, nil, 0o600)) // where a folder is to be
	}
	unblock := func() {
		require.NoError(t, os.Remove(folder))
		require.NoError(t, os.Rename(folder+"-aside", folder))
	}
	refused := func(r control.PauseRequest) {
		t.Helper()
		_, err := a.Pause(r)
		var refusal *control.Refusal
		require.ErrorAs(t, err, &refusal)
		require.ErrorIs(t, err, control.ErrConflict)
		require.Contains(t, err.Error(), "nothing was changed, as the pause cannot be kept in "+string(file))
		require.Contains(t, err.Error(), "(not a directory)")
	}
	block()
	refused(control.PauseRequest{ForMS: time.Hour.Milliseconds()})
	refused(control.PauseRequest{})
	require.Nil(t, a.engine.View().Paused)
	unblock()

	before, err := a.Pause(control.PauseRequest{ForMS: time.Hour.Milliseconds()})
	require.NoError(t, err)
	block()
	refused(control.PauseRequest{})
	require.Equal(t, before.Until, a.engine.View().Paused.Until.Round(0))
	unblock()
	a.pausing.Lock()
	defer a.pausing.Unlock()
	require.InDelta(t, time.Hour, time.Duration(a.keptPause().For), float64(time.Minute))
}
