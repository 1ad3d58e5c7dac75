package system

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsage(t *testing.T) {
	resident, err := ResidentMemory()
	require.NoError(t, err)
	require.Greater(t, resident, uint64(1<<20))
	before, err := OpenFiles()
	require.NoError(t, err)
	var files []*os.File
	for range 5 {
		f, err := os.Open("/dev/null")
		require.NoError(t, err)
		files = append(files, f)
	}
	after, err := OpenFiles()
	require.NoError(t, err)
	require.Equal(t, before+len(files), after)
	for _, f := range files {
		require.NoError(t, f.Close())
	}
}
