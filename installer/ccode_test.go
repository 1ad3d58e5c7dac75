//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatBringsC is one module, on Linux: another one's code in C would be in packages without a name.
func TestWhatBringsC(t *testing.T) {
	for system, want := range map[string]map[string]bool{"linux": {withC: true}, "windows": {}} {
		cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,CgoFiles,CFiles,CXXFiles,Module", "../cmd/...", "../fakeserver/...")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOARCH=amd64", "GOOS="+system)
		out, err := cmd.Output()
		require.NoError(t, err)
		found := make(map[string]bool)
		for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
			var p struct {
				ImportPath                 string
				Standard                   bool
				CgoFiles, CFiles, CXXFiles []string
				Module                     struct{ Path string }
			}
			require.NoError(t, d.Decode(&p))
			if !p.Standard && len(p.CgoFiles)+len(p.CFiles)+len(p.CXXFiles) > 0 {
				found[p.Module.Path] = true
			}
		}
		require.Equal(t, want, found, system)
	}
}
