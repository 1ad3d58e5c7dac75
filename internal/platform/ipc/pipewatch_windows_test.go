package ipc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/wine"
)

func TestPipesAreWatched(t *testing.T) {
	platformtest.NoLeak(t)
	folder := ipctest.Folder(t)
	machine := NewMachine([]string{folder}, platformtest.Quiet())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard, done := signal.New(), make(chan error, 1)
	go func() { done <- machine.Watch(ctx, heard.Notify) }()
	if wine.Is() { // which tells of no pipe
		require.ErrorIs(t, <-done, errors.ErrUnsupported)
		require.Empty(t, heard)
		return
	}
	platformtest.AwaitSignal(t, heard)
	l, err := ipctest.Listen(folder + `\discord-ipc-3`)
	require.NoError(t, err)
	defer l.Close()
	platformtest.AwaitSignal(t, heard)
	cancel()
	require.NoError(t, <-done)
}

// A folder of files is told of in the way in which Windows tells of pipes.
func TestNamesInAFolderAreHeard(t *testing.T) {
	platformtest.NoLeak(t)
	folder := t.TempDir()
	write := func(name string) error { return os.WriteFile(filepath.Join(folder, name), nil, 0o600) }
	w, err := openFolder(folder)
	require.NoError(t, err)
	require.NoError(t, w.prove(t.Context(), "Proof", func() error { return write("proof") }))
	require.ErrorIs(t, w.prove(t.Context(), "another", func() error { return nil }), errors.ErrUnsupported, "nothing is told")

	ctx, cancel := context.WithCancel(t.Context())
	heard, seen, done := signal.New(), make(chan string, 64), make(chan error, 1)
	go func() {
		done <- w.follow(ctx, func(name string) bool { seen <- name; return name == "discord-ipc-0" }, heard.Notify)
	}()
	require.NoError(t, write("mojo.1234"))
	require.Equal(t, "mojo.1234", <-seen)
	require.Empty(t, heard, "others make pipes all the time")
	require.NoError(t, write("discord-ipc-0"))
	platformtest.AwaitSignal(t, heard)
	require.NoError(t, os.Remove(filepath.Join(folder, "discord-ipc-0")))
	platformtest.AwaitSignal(t, heard)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	w.close()
	_, err = openFolder(filepath.Join(folder, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
