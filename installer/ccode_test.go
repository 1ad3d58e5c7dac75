//go:build linux

package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// licencesOfCodeInC of an agent is named, so that who looks for a vulnerability of it finds the package, and its terms are among the others.
func licencesOfCodeInC(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent")
	require.NoError(t, testlab.Build(path, "../cmd/agent", "CGO_ENABLED=1"))
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	modules, err := modulesOf(t.Context(), program, program)
	require.NoError(t, err)
	text, err := sbom("acme-agent.deb", "acme-agent", "Acme", release, nil, modules)
	require.NoError(t, err)
	var bom cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom))
	found := make(map[string]cdx.Component)
	for _, c := range *bom.Components {
		require.NotContains(t, found, c.Name)
		found[c.Name] = c
	}
	require.Regexp(t, `^pkg:github/mackron/miniaudio@\d+\.\d+\.\d+$`, found["miniaudio"].PackageURL)
	require.Regexp(t, `^pkg:generic/gcc@\d+`, found["libgcc"].PackageURL)
	require.NotContains(t, found, "mingw-w64")
	legal := string(licenceTexts(nil, modules))
	require.Regexp(t, `miniaudio \d+\.\d+\.\d+: MIT-0, Unlicense\n`, legal)
	require.Contains(t, legal, "David Reid")
	require.Contains(t, legal, "GCC Runtime Library Exception")
}

// licencesOfMinGW: its runtime is in agents for Windows on amd64, whose C compiler it belongs to, and not where there is no C.
func licencesOfMinGW(t *testing.T) {
	folders, err := moduleFolders(t.Context())
	require.NoError(t, err)
	of := func(cgo string) *buildinfo.BuildInfo {
		return &buildinfo.BuildInfo{Deps: []*debug.Module{{Path: withC}}, Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "windows"}, {Key: "GOARCH", Value: "amd64"}, {Key: "CGO_ENABLED", Value: cgo},
		}}
	}
	none, err := codeInC(t.Context(), of("0"), folders)
	require.NoError(t, err)
	require.Empty(t, none)
	if _, err := exec.LookPath(compilers["windows/amd64"]); err != nil {
		require.False(t, *complete, "mingw-w64 is missing: run `make deps-packages`")
		t.Skip("the rest is for `make test-packages`, for which mingw-w64 is installed")
	}
	list, err := codeInC(t.Context(), of("1"), folders)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Regexp(t, `^pkg:generic/gcc@\d+(\.\d+)*$`, list[1].URL)
	require.Regexp(t, `^pkg:generic/mingw-w64@\d+\.\d+\.\d+$`, list[2].URL)
	legal := string(licenceTexts(nil, list))
	require.Contains(t, legal, "by the mingw-w64 project\n\nRedistribution and use")
	require.Contains(t, legal, "by Lucent Technologies")
}

// TestWhatBringsC is one module: another one's code in C would be in packages without a name.
func TestWhatBringsC(t *testing.T) {
	for _, system := range []string{"linux", "windows"} {
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
		require.Equal(t, map[string]bool{withC: true}, found, system)
	}
}
