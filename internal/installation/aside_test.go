package installation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSetAside: a copy is in the place of each program, and what was set aside goes when nobody needs it any more.
func TestSetAside(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return string(text)
	}
	names := []string{"agent.exe", "agentw.exe", "missing.exe"}
	write("agent.exe", "one")
	write("agentw.exe", "tray")
	write("agent.brand.yaml.old", "somebody's")
	require.NoError(t, SetAside(folder, names))
	require.Equal(t, "one", read("agent.exe"))
	require.Equal(t, "one", read("agent.exe.0.old"))
	write("agent.exe", "two")
	require.NoError(t, SetAside(folder, names))
	require.Equal(t, "two", read("agent.exe"))
	require.Equal(t, "one", read("agent.exe.0.old"))
	require.Equal(t, "two", read("agent.exe.1.old"))
	require.NoError(t, RemoveAside(folder))
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{
		filepath.Join(folder, "agent.brand.yaml.old"), filepath.Join(folder, "agent.exe"), filepath.Join(folder, "agentw.exe"),
	}, left)
}

// TestSetAsideThatIsBrokenOff anywhere: a whole program is in its place, or is there after the next call.
func TestSetAsideThatIsBrokenOff(t *testing.T) {
	defer func() { rename = os.Rename }()
	powerCut := errors.New("power cut")
	for renames := range 3 {
		folder := t.TempDir()
		path := filepath.Join(folder, "agent.exe")
		whole := func() bool {
			text, err := os.ReadFile(path)
			return err == nil && string(text) == "whole"
		}
		require.NoError(t, os.WriteFile(path, []byte("whole"), 0o600))
		require.NoError(t, os.WriteFile(path+nextSuffix, []byte("half of an older one, which was longer"), 0o600))
		left := renames
		rename = func(from, to string) error {
			left--
			if left < 0 {
				panic(powerCut)
			}
			return os.Rename(from, to)
		}
		set := func() error { return SetAside(folder, []string{"agent.exe"}) }
		if renames < 2 {
			require.PanicsWithValue(t, powerCut, func() { _ = set() })
		} else {
			require.NoError(t, set())
		}
		require.Equal(t, renames != 1, whole(), renames)
		rename = os.Rename
		require.NoError(t, RemoveAside(folder))
		require.NoError(t, set())
		require.True(t, whole(), renames)
		require.NoFileExists(t, path+nextSuffix)
	}
}

// TestSetAsideThatFails leaves the program that runs where it was.
func TestSetAsideThatFails(t *testing.T) {
	defer func() { rename = os.Rename }()
	folder := t.TempDir()
	path := filepath.Join(folder, "agent.exe")
	require.NoError(t, os.WriteFile(path, []byte("whole"), 0o600))
	fails := errors.New("in use")
	for failing := range 2 {
		n := 0
		rename = func(from, to string) error {
			n++
			if n == failing+1 {
				return fails
			}
			return os.Rename(from, to)
		}
		require.ErrorIs(t, SetAside(folder, []string{"agent.exe"}), fails)
		left, err := filepath.Glob(filepath.Join(folder, "*"))
		require.NoError(t, err)
		require.Equal(t, []string{path}, left)
	}
}

// TestStaleCopies go with what was set aside, but for one that is all there is of its program.
func TestStaleCopies(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"agent.exe", "agent.exe.new", "agentw.exe.new", "agent.yaml.new"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	require.NoError(t, RemoveAside(folder))
	require.NoFileExists(t, filepath.Join(folder, "agent.exe.new"))
	require.FileExists(t, filepath.Join(folder, "agentw.exe.new"))
	require.FileExists(t, filepath.Join(folder, "agent.yaml.new"))
}
