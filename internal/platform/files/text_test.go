package files

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	text := Text(filepath.Join(t.TempDir(), "new", "note"))
	_, err := text.Read()
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, text.Remove(), "there is none")
	for _, want := range []string{"{}", `{"for":"1h"}`} {
		require.NoError(t, text.Write([]byte(want)))
		got, err := text.Read()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.NoError(t, text.Remove())
	_, err = text.Read()
	require.ErrorIs(t, err, fs.ErrNotExist)
}
