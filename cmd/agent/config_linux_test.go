package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPolicyOfThisMachine: an agent of these tests goes by a policy in a folder of the test's own, and not by that of this machine.
func TestPolicyOfThisMachine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	folder := filepath.Join(home, "etc", "sidetone", "policy.d")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "10-all.yaml"), []byte("rpc: {on_exit: leave}\n"), 0o600))
	own := sidetone(t, []string{"HOME=" + home}, "config", "show")
	require.Regexp(t, `(?m)^rpc.on_exit +leave +policy `+folder+`/10-all.yaml:1$`, own.stdout, "the test's own folder")
}
