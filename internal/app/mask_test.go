package app

import (
	"archive/zip"
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMask: a serial number that begins with another must not be left half in the open.
func TestMask(t *testing.T) {
	m := newMask(Host{Getenv: func(string) string { return "" }})
	for _, s := range []string{"A1", "A12", "A12-7", "A1", "", "7"} {
		m.serial(s)
	}
	masked := m.apply("A12-7, A12, A1 and 7")
	require.NotContains(t, masked, "A1")
	require.Regexp(t, `^SERIAL-\d, SERIAL-\d, SERIAL-\d and 7$`, masked)
	require.Equal(t, m.apply("A1"), m.apply("A1"))
	require.NotEqual(t, m.apply("A1"), m.apply("A12"))
}

// TestBundleHasTimes: an archive without them shows files of 1980.
func TestBundleHasTimes(t *testing.T) {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	require.NoError(t, store(z, "status.json", "{}"))
	require.NoError(t, z.Close())
	r, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), r.File[0].Modified, time.Hour)
}
