package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// TestFilesAreWhatTheSourceDraws: after a change of the source, run 'make icons'.
func TestFilesAreWhatTheSourceDraws(t *testing.T) {
	if testlab.RanUnraced(t) { // there is one goroutine only
		return
	}
	top := filepath.Join("../..", folder)
	source, err := os.ReadFile(filepath.Join(top, "icon.svg"))
	require.NoError(t, err)
	want, err := drawAll(string(source))
	require.NoError(t, err)
	have, err := os.ReadDir(filepath.Join(top, "files"))
	require.NoError(t, err)
	require.Len(t, have, len(want)-1, "all but the program's")
	for name, data := range want {
		file, err := os.ReadFile(filepath.Join(top, name))
		require.NoError(t, err)
		require.Equal(t, data, file, "%s: run 'make icons'", name)
	}
}
