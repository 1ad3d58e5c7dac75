package platformtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A SysTree is a folder that looks like the root of a Linux system with some devices.
type SysTree struct {
	T    *testing.T
	Root string
}

// NewSysTree makes a tree without devices.
func NewSysTree(t *testing.T) SysTree {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	f := SysTree{t, root}
	f.Dir("sys/class")
	f.Dir("dev")
	return f
}

// Path returns the path of something in the tree.
func (f SysTree) Path(rel string) string { return filepath.Join(f.Root, rel) }

// Dir makes a folder and those above it.
func (f SysTree) Dir(rel string) {
	require.NoError(f.T, os.MkdirAll(f.Path(rel), 0o755))
}

// Device makes a folder below sys/devices with the given attributes, as lines.
func (f SysTree) Device(rel string, attributes map[string]string) {
	rel = filepath.Join("sys/devices", rel)
	f.Dir(rel)
	for name, value := range attributes {
		require.NoError(f.T, os.WriteFile(f.Path(filepath.Join(rel, name)), []byte(value+"\n"), 0o644))
	}
}
