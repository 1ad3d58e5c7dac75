package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/hid/learn"
)

// TestSaveOnAFullDisk leaves no half of a file, which would be in the way of the next try.
func TestSaveOnAFullDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bundle.zip")
	err := saveNew(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "the beginning")
		return syscall.ENOSPC
	})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoFileExists(t, path)
	require.NoError(t, saveNew(path, func(w io.Writer) error { _, err := io.WriteString(w, "all"); return err }))
	require.ErrorIs(t, saveNew(path, nil), os.ErrExist)
	require.Equal(t, "all", read(t, path))
}

// TestSessionIsNotLost: the user has pressed mute some ten times.
func TestSessionIsNotLost(t *testing.T) {
	session := learn.Session{{Mark: learn.MarkUnmuted}, {Mark: learn.MarkMuted}}
	temp := t.TempDir()
	setTemp := func(folder string) {
		t.Setenv("TMPDIR", folder)
		t.Setenv("TMP", folder) // Windows
	}
	setTemp(temp)
	keep := func(talk io.Writer) error {
		r, full, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		return (&learner{messages: talk}).keep(full, session)
	}
	err := keep(io.Discard)
	gone := syscall.EPIPE
	if runtime.GOOS == "windows" {
		gone = 232 // ERROR_NO_DATA
	}
	require.ErrorIs(t, err, gone)
	saved, globErr := filepath.Glob(filepath.Join(temp, "sidetone-learn-*.jsonl"))
	require.NoError(t, globErr)
	require.Len(t, saved, 1)
	require.ErrorContains(t, err, "the recording is in "+saved[0]+" instead")
	again, err := learn.ReadSession(strings.NewReader(read(t, saved[0])))
	require.NoError(t, err)
	require.Equal(t, session, again)

	setTemp(filepath.Join(temp, "missing"))
	var talk strings.Builder
	require.ErrorContains(t, keep(&talk), "the recording is above")
	again, err = learn.ReadSession(strings.NewReader(talk.String()))
	require.NoError(t, err)
	require.Equal(t, session, again)
}
