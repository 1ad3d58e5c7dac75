package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/engine"
	"sidetone/internal/testlab"
)

// TestKeptPause: what an agent makes of the file that the one before has left, or that somebody has spoilt.
func TestKeptPause(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }
	year := 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		file    string
		longest time.Duration // 0: none; below 0: until somebody ends it
	}{
		"half of it is left":            {`{"until":"` + in(time.Hour) + `","for":"2h"}`, time.Hour},
		"the clock was set back":        {`{"until":"` + in(year) + `","for":"1h"}`, time.Hour},
		"no word of how long it was":    {`{"until":"` + in(year) + `"}`, control.MaxPause},
		"it is over":                    {`{"until":"` + in(-time.Second) + `","for":"1h"}`, 0},
		"a length that is none":         {`{"until":"` + in(year) + `","for":"-1h"}`, control.MaxPause},
		"a length that nobody can read": {`{"until":"` + in(year) + `","for":"NaN"}`, 0},
		"until somebody ends it":        {`{}`, -1},
		"cut off":                       {`{"until":"`, 0},
		"empty":                         {``, 0},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			a := &App{opts: Options{Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}}, log: slog.New(slog.DiscardHandler)}
			file, err := a.pauseFile()
			require.NoError(t, err)
			path := string(file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(c.file), 0o600))
			got := a.keptPause()
			switch {
			case c.longest == 0:
				require.Nil(t, got)
			case c.longest < 0:
				require.Equal(t, &engine.Pause{}, got)
			default:
				require.LessOrEqual(t, time.Duration(got.For), c.longest)
				require.Greater(t, time.Duration(got.For), c.longest-time.Minute)
			}
		})
	}
}

// TestEndedPauseIsForgotten: were the clock set back, it would begin anew with the next start; but one that the agent's end interrupts is
// kept.
func TestEndedPauseIsForgotten(t *testing.T) {
	a := startApp(t, Options{Settings: bareSettings(t)})
	file, err := a.pauseFile()
	require.NoError(t, err)
	path := string(file)
	_, err = a.Pause(control.PauseRequest{ForMS: 200})
	require.NoError(t, err)
	require.FileExists(t, path)
	testlab.Eventually(t, "the pause is over, and its file is gone", func() bool {
		_, err := os.Stat(path)
		return os.IsNotExist(err) && a.engine.View().Paused == nil
	})
	_, err = a.Pause(control.PauseRequest{ForMS: time.Hour.Milliseconds()})
	require.NoError(t, err)
	a.Stop(t.Context(), control.ListByPolicy)
	testlab.Eventually(t, "the Engine has ended", func() bool { return a.engine.View().Snapshot.Generation == 0 })
	a.forgetEndedPause()
	require.FileExists(t, path)
}
