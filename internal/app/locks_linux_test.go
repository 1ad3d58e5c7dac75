package app

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/ipc"
	"sidetone/internal/testlab"
)

// TestALockThatCannotBeTakenIsSaidOnce, however long an agent waits for the others.
func TestALockThatCannotBeTakenIsSaidOnce(t *testing.T) {
	onLockDesk(t, func(d *lockDesk) {
		var log bytes.Buffer
		files, err := filepath.Glob(filepath.Join(d.Host.Getenv("XDG_RUNTIME_DIR"), "sidetone", "clients", "*.lock"))
		require.NoError(d, err)
		require.Len(d, files, 1)
		require.NoError(d, os.Remove(files[0]))
		require.NoError(d, os.Mkdir(files[0], 0o700))
		other, err := d.listen()
		require.NoError(d, err)
		defer other.Close()
		a := &App{opts: d.Options, log: slog.New(slog.NewTextHandler(&log, nil))}
		require.ErrorAs(d, a.awaitLocks(context.Background(), EndTimeout), new(*ipc.ErrRunning))
		require.Equal(d, 1, strings.Count(log.String(), "level=WARN"), log.String())
	})
}

// TestAnAgentOfAnotherShell has another runtime folder in its environment, and the same user and clients.
func TestAnAgentOfAnotherShell(t *testing.T) {
	elsewhere := t.TempDir()
	onLockDesk(t, func(d *lockDesk) {
		a := &App{opts: d.Options, log: d.Log}
		require.NoError(d, a.awaitLocks(d.Context(), 0))
		defer a.closeLocks()
		other := &App{opts: d.Options, log: d.Log}
		other.opts.Host = Host{Getenv: func(string) string { return elsewhere }}
		err := other.awaitLocks(d.Context(), 0)
		defer other.closeLocks()
		testlab.ExpectedFailure(d.T, "F5: a second agent starts where the environment names another folder", func(t testing.TB) {
			require.ErrorAs(t, err, new(*ipc.ErrRunning))
		})
	})
}
