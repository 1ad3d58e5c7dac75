package strictyaml

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	good := write("good.yaml", "\uFEFFa: é\n", 0o600)
	data, err := ReadFile(good)
	require.NoError(t, err)
	require.Equal(t, "\uFEFFa: é\n", string(data))

	full := write("full.yaml", strings.Repeat("#", MaxSize), 0o600)
	_, err = ReadFile(full)
	require.NoError(t, err)

	missing := filepath.Join(dir, "missing.yaml")
	_, err = ReadFile(missing)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.True(t, strings.HasPrefix(err.Error(), "cannot read "+missing+": "))
	require.Equal(t, 1, strings.Count(err.Error(), "missing.yaml"))

	for path, want := range map[string]string{
		dir: "it is a folder, want a file",
		write("large.yaml", strings.Repeat("#", MaxSize+1), 0o600): "larger than the limit of 1048576 bytes",
		write("latin1.yaml", "a: \xe9\n", 0o600):                   "not UTF-8 text; save the file as UTF-8",
		write("utf16.yaml", "\xff\xfea\x00", 0o600):                "not UTF-8 text; save the file as UTF-8",
	} {
		_, err := ReadFile(path)
		require.EqualError(t, err, "cannot read "+path+": "+want)
	}
}
