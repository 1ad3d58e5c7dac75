package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/engine"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
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
			place, err := a.pausePlace(false)
			require.NoError(t, err)
			path := place.String()
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
	place, err := a.pausePlace(false)
	require.NoError(t, err)
	path := place.String()
	_, err = a.Pause(control.PauseRequest{ForMS: 200})
	require.NoError(t, err)
	require.FileExists(t, path)
	testlab.Eventually(t, "the pause is over, and its file is gone", func() bool {
		_, err := os.Stat(path)
		return os.IsNotExist(err) && a.engine.View().Paused == nil
	})
	_, err = a.Pause(control.PauseRequest{ForMS: time.Hour.Milliseconds()})
	require.NoError(t, err)
	a.Stop(t.Context(), false)
	testlab.Eventually(t, "the Engine has ended", func() bool { return a.engine.View().Snapshot.Generation == 0 })
	a.forgetEndedPause()
	require.FileExists(t, path)
}

// TestPauseUntilTheNextLogIn outlasts a restart of the agent within the session: whoever looks after it starts it again after a crash.
func TestPauseUntilTheNextLogIn(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("macOS has no place that ends with a log-in session")
	}
	folder := t.TempDir()
	o := Options{Settings: bareSettings(t), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	o.Host.Getenv = func(name string) string { return filepath.Join(folder, name) }
	o.Settings.Config.Control.Socket = ipctest.Path(t)
	run := func(f func(*App)) {
		t.Helper()
		a, err := New(o)
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- a.Run(t.Context()) }()
		defer func() {
			a.stop()
			require.NoError(t, <-ended)
		}()
		f(a)
	}
	run(func(a *App) {
		_, err := a.Pause(control.PauseRequest{UntilLogin: true})
		require.NoError(t, err)
		t.Cleanup(func() { _ = a.forgetPause() })
	})
	run(func(a *App) {
		require.Equal(t, &engine.Paused{UntilLogin: true}, a.engine.View().Paused)
		a.Resume()
	})
	run(func(a *App) { require.Nil(t, a.engine.View().Paused) })
}
