//go:build linux

// Package fuzz tests the script of 'make fuzz'.
package fuzz

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// engine plays the Go command with two fuzz targets. The first one ends with an error, and keeps an input if there is a file "finds".
const engine = `#!/bin/sh
case "$*" in
list*) echo example/p ;;
*-list*) printf 'FuzzOne\nFuzzTwo\nok  example/p 0.1s\n' ;;
*^FuzzOne*)
  echo "context deadline exceeded"
  if [ -e finds ]; then mkdir -p p/testdata/fuzz/FuzzOne && echo bad >p/testdata/fuzz/FuzzOne/new; fi
  exit 1 ;;
*) echo "ran $*" ;;
esac
`

func TestFuzz(t *testing.T) {
	script, err := filepath.Abs("fuzz.sh")
	require.NoError(t, err)
	fuzz := func(folder string) (string, int) {
		t.Helper()
		cmd := exec.Command(script, "500x", "./...")
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "GO="+filepath.Join(folder, "engine"))
		text, err := cmd.CombinedOutput()
		if exit, failed := errors.AsType[*exec.ExitError](err); failed {
			return string(text), exit.ExitCode()
		}
		require.NoError(t, err)
		return string(text), 0
	}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "engine"), []byte(engine), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "p/testdata/fuzz/FuzzOne"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "p/testdata/fuzz/FuzzOne/known"), nil, 0o600))

	text, code := fuzz(folder)
	require.Zero(t, code, text)
	require.Contains(t, text, "example/p FuzzOne: ended before its time")
	require.Contains(t, text, "ran test -run ^$ -fuzz ^FuzzTwo$ -fuzztime 500x", "the next one runs")

	require.NoError(t, os.WriteFile(filepath.Join(folder, "finds"), nil, 0o600))
	text, code = fuzz(folder)
	require.Equal(t, 1, code)
	require.Contains(t, text, "ran test", "the next one runs all the same")
	require.Contains(t, text, "inputs that fail were kept:\n./p/testdata/fuzz/FuzzOne/new\n")
}
