//go:build unix

package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{file, link} {
		data, err := ReadFile(path, 4)
		require.NoError(t, err)
		require.Equal(t, "text", string(data))
	}
	for path, want := range map[string]string{
		pipe:        "pipe is a pipe, not a regular file",
		dir:         " is a folder, not a regular file",
		"/dev/zero": "/dev/zero is a device, not a regular file",
	} {
		_, err := ReadFile(path, 4)
		require.ErrorContains(t, err, want)
	}
	_, err := ReadFile(file, 3)
	require.EqualError(t, err, file+" has more than 3 bytes")
	_, err = ReadFile(filepath.Join(dir, "none"), 3)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.True(t, strings.HasSuffix(err.Error(), "no such file or directory"))
}
