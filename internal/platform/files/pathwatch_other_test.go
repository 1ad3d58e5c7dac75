//go:build !linux

package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/signal"
)

// TestOnlyNewFoldersAreAdded: events that nobody has read yet are lost when a folder is added that is watched already.
func TestOnlyNewFoldersAreAdded(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	w, err := NewPathWatch([]string{filepath.Join(folder, "file")}, true, signal.New().Notify)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	var added []string
	w.add = func(folder string) error {
		added = append(added, folder)
		return w.watcher.Add(folder)
	}
	arm := func() []string {
		added = nil
		sees, errs := w.Arm()
		require.True(t, sees)
		require.Empty(t, errs)
		return slices.Clone(added)
	}
	require.Contains(t, arm(), folder)
	require.Empty(t, arm())

	require.NoError(t, os.Rename(folder, folder+".old"))
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.Equal(t, []string{folder}, arm(), "another one of the same name")
	require.Empty(t, arm())

	w.lost.Store(true)
	require.Contains(t, arm(), folder, "after an error nobody knows what is watched")
}

// TestArmEndsWithTheWatch: what is added while the watcher is closed might never be answered.
func TestArmEndsWithTheWatch(t *testing.T) {
	root := filepath.VolumeName(t.TempDir()) + string(filepath.Separator)
	for range 200 {
		w, err := NewPathWatch([]string{filepath.Join(root, "file")}, true, signal.New().Notify)
		require.NoError(t, err)
		adding, armed := make(chan struct{}), make(chan struct{})
		w.add = func(folder string) error {
			close(adding)
			return w.watcher.Add(folder)
		}
		go func() {
			_, _ = w.Arm()
			close(armed)
		}()
		<-adding
		require.NoError(t, w.Close())
		<-armed
	}
}
