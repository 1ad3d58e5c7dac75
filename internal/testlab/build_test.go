package testlab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// marksEnv names a folder in which TestRanUnraced says which of its cases has run to the end.
const marksEnv = "TESTLAB_TEST_MARKS"

// failEnv has its case fail.
const failEnv = "TESTLAB_TEST_FAIL"

// TestRanUnraced: a case runs to its end once, and only it, in this process or another one.
func TestRanUnraced(t *testing.T) {
	folder := os.Getenv(marksEnv)
	if folder == "" {
		folder = t.TempDir()
		t.Setenv(marksEnv, folder)
	}
	ends := func(t *testing.T, name string) {
		if os.Getenv(failEnv) != "" {
			t.Fatal("as told")
		}
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	for _, name := range []string{"one", "one more (of two)"} {
		t.Run(name, func(t *testing.T) {
			if !testlab.RanUnraced(t) {
				ends(t, name)
			}
			require.FileExists(t, filepath.Join(folder, name))
		})
	}
}

// TestFailureWithoutTheDetector is one of the test.
func TestFailureWithoutTheDetector(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestRanUnraced$")
	cmd.Env = append(os.Environ(), failEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "as told")
}
