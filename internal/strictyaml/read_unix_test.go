//go:build unix

package strictyaml

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Opening a pipe that nobody writes to blocks for ever.
func TestReadFilePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.yaml")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	_, err := ReadFile(path)
	require.EqualError(t, err, "cannot read "+path+": not a regular file")
}
