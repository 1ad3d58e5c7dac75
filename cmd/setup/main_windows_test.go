package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/service/tasks"
)

// TestRemoveTask: one of the package's name that starts another program stays.
func TestRemoveTask(t *testing.T) {
	t.Cleanup(func() { readTask, deleteTask = tasks.Read, tasks.Remove })
	folder, elsewhere := t.TempDir(), t.TempDir()
	own, other := filepath.Join(folder, "acmew.exe"), filepath.Join(elsewhere, "acmew.exe")
	for _, program := range []string{own, other} {
		require.NoError(t, os.WriteFile(program, nil, 0o700))
	}
	remove := func(text string) (removed bool, err error) {
		readTask = func(name string) (tasks.Stored, error) {
			require.Equal(t, "acme", name)
			return tasks.Stored{Text: text}, nil
		}
		deleteTask = func(name string) error {
			require.Equal(t, "acme", name)
			removed = true
			return nil
		}
		err = run([]string{"remove-task", folder, "acme.exe", "acmew.exe", "acme-service.exe"})
		return removed, err
	}
	starts := func(program string) string { return tasks.Text("acme", "", program, "host run") }
	for text, reason := range map[string]string{starts(other): other + " host run", "<Task/>": "0 programs"} {
		removed, err := remove(text)
		require.ErrorContains(t, err, reason)
		require.False(t, removed)
	}
	removed, err := remove(starts(own))
	require.NoError(t, err)
	require.True(t, removed)
	require.NoError(t, os.Rename(own, own+".0.old"), "as an upgrade does before")
	removed, err = remove(starts(own))
	require.NoError(t, err)
	require.True(t, removed)
	removed, err = remove("")
	require.NoError(t, err)
	require.False(t, removed)
}
