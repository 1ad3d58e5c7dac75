//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What never ends, or never begins, is refused at once.
func TestRunReadsRegularFilesOnly(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, kind := range map[string]string{"/dev/zero": "a device", pipe: "a pipe"} {
		var out, errs bytes.Buffer
		require.Equal(t, exitUsage, execute(t.Context(), []string{"run", path}, strings.NewReader(""), &out, &errs))
		require.Contains(t, errs.String(), "cannot read the scenario: "+path+" is "+kind+", not a regular file")
	}
}
