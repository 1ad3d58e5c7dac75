package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// TestLogIsPutAside: however much is logged, 10 MB of it are kept, and the newest of it.
func TestLogIsPutAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.log")
	file := rotated(path)
	line := bytes.Repeat([]byte("x"), 1<<10)
	for range 21 << 10 {
		_, err := file.Write(line)
		require.NoError(t, err)
	}
	_, err := file.Write([]byte("the last"))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	testlab.Eventually(t, "two files, 10 MB in all", func() bool {
		all, err := filepath.Glob(filepath.Join(filepath.Dir(path), "agent*.log"))
		require.NoError(t, err)
		var size int64
		for _, one := range all {
			info, err := os.Stat(one)
			if err != nil {
				return false // it has just been removed
			}
			size += info.Size()
		}
		return len(all) == 2 && size <= 10<<20
	})
	require.True(t, strings.HasSuffix(read(t, path), "xthe last"))
}

// TestLogOfTwoAgents: while one hands over to another both have the file. On Windows it cannot be put aside then, which is made up for
// once there is one agent.
func TestLogOfTwoAgents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.log")
	before, next := rotated(path), rotated(path)
	defer next.Close()
	_, err := before.Write([]byte("the agent before\n"))
	require.NoError(t, err)
	line := bytes.Repeat([]byte("x"), 64<<10)
	for range logFileMB<<20/len(line) + 1 {
		_, _ = next.Write(line) // what does not fit is lost on Windows
	}
	require.NoError(t, before.Close())
	_, err = next.Write(append(line, "the next agent\n"...))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(read(t, path), "xthe next agent\n"))
	all, err := filepath.Glob(filepath.Join(filepath.Dir(path), "agent*.log"))
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, one := range all {
		if one != path {
			require.True(t, strings.HasPrefix(read(t, one), "the agent before\n"), "nothing of it was lost")
		}
	}
}
