//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"

	"sidetone/installer/signtest"
)

// programForWindows is one that does nothing.
func programForWindows(t *testing.T) []byte {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", "program.exe", "main.go")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	program, err := os.ReadFile(filepath.Join(folder, "program.exe"))
	require.NoError(t, err)
	return program
}

// branded are the programs of the example's brand, with whatever signs them.
func branded(t *testing.T, sign string) Tree {
	t.Helper()
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	icon, err := b.icon()
	require.NoError(t, err)
	program := programForWindows(t)
	var tree Tree
	for _, name := range []string{"acme-agent.exe", "acme-agentw.exe", "acme-agent-service.exe", "acme-agent-setup.exe"} {
		tree.addProgram(name, program)
	}
	tree.add("licences.txt", []byte("text"))
	require.NoError(t, options{release: release, sign: sign}.finishPrograms(t.Context(), b, tree, icon))
	return tree
}

// TestProgramsSayWhoseTheyAre: rules by which companies allow programs go by that. It is the same each time.
func TestProgramsSayWhoseTheyAre(t *testing.T) {
	tree := branded(t, "")
	again := branded(t, "")
	for i, about := range []string{
		"Acme Headset Agent", "Acme Headset Agent (tray)", "Acme Headset Agent (service)", "Acme Headset Agent (setup)",
	} {
		f := tree[i]
		require.True(t, bytes.Equal(f.Data, again[i].Data))
		resources, err := winres.LoadFromEXE(bytes.NewReader(f.Data))
		require.NoError(t, err)
		icon, err := resources.GetIcon(winres.ID(1))
		require.NoError(t, err)
		require.NotNil(t, icon)
		require.Equal(t, manifestOfPrograms, resources.Get(winres.RT_MANIFEST, winres.ID(1), version.LangDefault))
		info, err := version.FromBytes(resources.Get(winres.RT_VERSION, winres.ID(1), version.LangDefault))
		require.NoError(t, err)
		require.Equal(t, [4]uint16{1, 2, 3}, info.FileVersion)
		text, err := json.Marshal(info)
		require.NoError(t, err)
		var said struct {
			Info map[string]map[string]string `json:"info"`
		}
		require.NoError(t, json.Unmarshal(text, &said))
		delete(said.Info["0409"], version.LegalCopyright)
		require.Equal(t, map[string]string{
			version.CompanyName: "Acme Audio Inc.", version.ProductName: "Acme Headset Agent", version.FileDescription: about,
			version.InternalName: strings.TrimSuffix(f.Path, ".exe"), version.OriginalFilename: f.Path,
			version.FileVersion: "1.2.3", version.ProductVersion: "1.2.3",
		}, said.Info["0409"])
	}
	require.Equal(t, []byte("text"), tree[4].Data)
}

// TestProgramsAreSigned before they are packed, with a time stamp; a byte that has changed is seen.
func TestProgramsAreSigned(t *testing.T) {
	ca := signtest.NewAuthority(t)
	tree := branded(t, ca.Command(t, "../docs"))
	for _, f := range tree[:4] {
		require.NoError(t, ca.Verify(t, f.Data), f.Path)
		f.Data[len(f.Data)/2] ^= 1
		require.Error(t, ca.Verify(t, f.Data), f.Path)
	}
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	tree[0].Data = programForWindows(t)
	icon, err := b.icon()
	require.NoError(t, err)
	require.ErrorContains(t, options{sign: "false"}.finishPrograms(t.Context(), b, tree, icon), `sign acme-agent.exe by "false"`)
}
