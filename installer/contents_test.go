//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// TestLicences: what a vendor may not ship, or is under no licence that anybody knows, fails the build and is named.
func TestLicences(t *testing.T) {
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

// TestModulesOfThisProgram are all under licences that are known.
func TestModulesOfThisProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	modules, err := modulesOf(t.Context(), program)
	require.NoError(t, err)
	require.Equal(t, "std", modules[len(modules)-1].Path)
	require.Contains(t, modules[len(modules)-1].Licences, "BSD-3-Clause")

	tree := Tree{{Path: "/usr/bin/x", Data: []byte("x")}, {Path: "/usr/bin/y", Target: "x"}}
	text, err := sbom("acme-agent", release, tree, modules)
	require.NoError(t, err)
	again, err := sbom("acme-agent", release, tree, modules)
	require.NoError(t, err)
	require.Equal(t, text, again)
	var bom cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom))
	require.Len(t, *bom.Components, len(modules)+1)
	require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, bom.SerialNumber)
	var header map[string]any
	require.NoError(t, json.Unmarshal(text, &header))
	require.Equal(t, "CycloneDX", header["bomFormat"])
}

// TestArchive: the same files make the same archive, in whatever order they come.
func TestArchive(t *testing.T) {
	var tree Tree
	tree.add("b", []byte("1"))
	tree.addProgram("a/c", []byte("2"))
	tree.link("d", "b")
	one, err := tarball(tree, "x", release)
	require.NoError(t, err)
	tree[0], tree[2] = tree[2], tree[0]
	two, err := tarball(tree, "x", release)
	require.NoError(t, err)
	require.Equal(t, one, two)
	zips := [2][]byte{}
	for i := range zips {
		zips[i], err = zipArchive(tree[:2], release)
		require.NoError(t, err)
		tree[0], tree[1] = tree[1], tree[0]
	}
	require.Equal(t, zips[0], zips[1])
	tree.add("B", nil)
	_, err = tarball(tree, "x", release)
	require.ErrorContains(t, err, "x/b would be in the package twice, also as x/B")
}

// TestTemplates of policies are in an archive as Windows wants them in its folder.
func TestTemplates(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	o := options{out: t.TempDir(), release: release}
	require.NoError(t, o.templates(b))
	z, err := zip.OpenReader(filepath.Join(o.out, "acme-agent-1.2.3-policies.zip"))
	require.NoError(t, err)
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"acme-agent.admx", "de-DE/acme-agent.adml", "en-US/acme-agent.adml"}, names)
}
