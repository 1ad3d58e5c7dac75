package keep

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTexts(t *testing.T) {
	folder := t.TempDir()
	session, err := UntilLogOff(func(string) string { return folder }, "acme", folder, "note")
	if runtime.GOOS == "darwin" {
		require.ErrorIs(t, err, errors.ErrUnsupported, "macOS has no place that ends with a log-in session")
		return
	}
	require.NoError(t, err)
	other, err := UntilLogOff(func(string) string { return folder }, "acme", folder, "another")
	require.NoError(t, err)
	for _, text := range []Text{File(filepath.Join(folder, "new", "note")), session} {
		t.Cleanup(func() { _ = text.Remove() })
		_, err = text.Read()
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, text.Remove(), "there is none")
		for _, want := range []string{"{}", `{"for":"1h"}`} {
			require.NoError(t, text.Write([]byte(want)))
			got, err := text.Read()
			require.NoError(t, err)
			require.Equal(t, want, string(got))
		}
		_, err = other.Read()
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, text.Remove())
		_, err = text.Read()
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}
