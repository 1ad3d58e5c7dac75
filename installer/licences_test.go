//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// TestLicences groups its subtests so that one process builds the table of licences once, and without the race detector, under which that
// takes ten seconds.
func TestLicences(t *testing.T) {
	if testlab.RanUnraced(t) {
		return
	}
	t.Run("of a module", testModuleLicences)
	t.Run("of this program", testOwnLicences)
	t.Run("of code in C", testCLicences)
}

// testModuleLicences: what a vendor may not ship, or is under no licence that anybody knows, fails the build and is named.
func testModuleLicences(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "example.org/m v1 is under no licence that is known",
		"All rights reserved": "is under no licence that is known",
		"GNU":                 "which a vendor cannot ship",
		"Apache":              "",
	} {
		folder := t.TempDir()
		switch text {
		case "GNU":
			gpl, err := os.ReadFile("testdata/gpl-2.0.txt")
			require.NoError(t, err)
			text = string(gpl)
		case "Apache":
			apache, err := os.ReadFile("../LICENSE")
			require.NoError(t, err)
			text = string(apache)
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, "LICENSE.md"), []byte(text), 0o600))
		m := Module{Path: "example.org/m", Version: "v1"}
		err := m.readLicences(folder)
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{"Apache-2.0"}, m.Licences)
		require.Contains(t, string(licenceTexts([]byte("ours"), []Module{m})), "example.org/m v1: Apache-2.0")
	}
}

// testOwnLicences: its modules are all under licences that are known.
func testOwnLicences(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	modules, err := modulesOf(t.Context(), program)
	require.NoError(t, err)
	require.Equal(t, "std", modules[len(modules)-1].Path)
	require.Contains(t, modules[len(modules)-1].Licences, "BSD-3-Clause")

	tree := Tree{{Path: "/usr/bin/x", Data: []byte("x")}, {Path: "/usr/bin/y", Target: "x"}}
	text, err := sbom("acme-agent.deb", "acme-agent", "Acme", release, tree, modules)
	require.NoError(t, err)
	again, err := sbom("acme-agent.deb", "acme-agent", "Acme", release, tree, modules)
	require.NoError(t, err)
	require.Equal(t, text, again)
	var bom cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom))
	require.Len(t, *bom.Components, len(modules)+1)
	require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, bom.SerialNumber)
	require.Equal(t, "Acme", bom.Metadata.Component.Supplier.Name)
	require.Equal(t, "pkg:generic/acme-agent@1.2.3", bom.Metadata.Component.PackageURL)
	other, err := sbom("acme-agent.rpm", "acme-agent", "Acme", release, tree, modules)
	require.NoError(t, err)
	require.NotContains(t, string(other), bom.SerialNumber, "each is of one package")
	var header map[string]any
	require.NoError(t, json.Unmarshal(text, &header))
	require.Equal(t, "CycloneDX", header["bomFormat"])
}

// testCLicences: code in C that is in an agent is named, so that anyone searching for a vulnerability finds the package, and its terms are
// among the others.
func testCLicences(t *testing.T) {
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
	legal := string(licenceTexts(nil, modules))
	require.Regexp(t, `miniaudio \d+\.\d+\.\d+: MIT-0, Unlicense\n`, legal)
	require.Contains(t, legal, "David Reid")
	require.Contains(t, legal, "GCC Runtime Library Exception")
}
