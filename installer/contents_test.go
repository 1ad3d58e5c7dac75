//go:build linux

package main

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArchive: the same files make the same archive, in whatever order they come.
func TestArchive(t *testing.T) {
	var tree Tree
	tree.add("b", []byte("1"))
	tree.addProgram("a/c", []byte("2"))
	tree.link("d", "b")
	one, err := tarball(tree.below("x"), release)
	require.NoError(t, err)
	tree[0], tree[2] = tree[2], tree[0]
	two, err := tarball(tree.below("x"), release)
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
	_, err = tarball(tree.below("x"), release)
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

// TestProvenance names what is the vendor's own: packages of two catalogues are not of one build.
func TestProvenance(t *testing.T) {
	path := changed(t, "[../examples/acme.yaml]", "[acme.yaml]")
	folder := filepath.Dir(path)
	said := func(more string) (names []string, text string) {
		cat, err := os.ReadFile("../examples/acme.yaml")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "acme.yaml"), append(cat, more...), 0o600))
		b, err := LoadBrand(path)
		require.NoError(t, err)
		o := options{release: release, out: t.TempDir()}
		require.NoError(t, o.finish(t.Context(), b))
		data, err := os.ReadFile(filepath.Join(o.out, "provenance.json"))
		require.NoError(t, err)
		var s statement
		require.NoError(t, json.Unmarshal(data, &s))
		for _, r := range s.Predicate.BuildDefinition.Resolved {
			names = append(names, r.Name+r.URI)
		}
		return names, string(data)
	}
	names, one := said("")
	require.Equal(t, []string{"brand.yaml", "icon.svg", "acme.yaml"}, names[len(names)-3:])
	require.Contains(t, names, "pkg:golang/github.com/goreleaser/nfpm/v2@v2.45.2#cmd/nfpm")
	require.NotContains(t, one, folder, "no path of this machine")
	_, again := said("")
	require.Equal(t, one, again)
	_, other := said("# new\n")
	require.NotEqual(t, one, other)
}

// TestReadme of an archive speaks of what is in it, and of whom to ask.
func TestReadme(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	with, without := string(b.portableReadme(release, true)), string(b.portableReadme(release, false))
	for _, text := range []string{with, without} {
		require.NotContains(t, text, "%!")
		require.Contains(t, text, "Vulnerabilities: "+b.Vendor.Security+"\n")
		require.NotContains(t, text, "\n\n\n")
	}
	require.Contains(t, with, "cp 70-acme-agent-hid.rules")
	require.Contains(t, with, "this folder and the rule.")
	require.NotContains(t, without, "rule")
}

// TestReadmeOfUpdate: its commands, in a shell that goes on after an error, lose nothing where the new archive is missing or cut off.
func TestReadmeOfUpdate(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	blocks := regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindAllString(string(b.portableReadme(release, false)), -1)
	update := blocks[len(blocks)-1]
	folder := t.TempDir()
	here := filepath.Join(folder, "here")
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755))
	}
	follow := func(archive string) error {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(update, "NEW.tar.gz", archive))
		cmd.Dir = here
		return cmd.Run()
	}
	old := []string{"here/acme-agent.brand.yaml", "here/catalogue/gone.yaml"}
	for _, name := range old {
		write(name, "old")
	}
	write("new/acme-agent", "#!/bin/sh\necho \"$1\" >said\n")
	write("new/acme-agent.policy.yaml", strings.Repeat("new\n", 1000))
	whole := filepath.Join(folder, "whole.tar.gz")
	require.NoError(t, exec.CommandContext(t.Context(), "tar", "-czf", whole, "-C", folder, "new").Run())
	archive, err := os.ReadFile(whole)
	require.NoError(t, err)
	write("half.tar.gz", string(archive[:len(archive)-20]))

	for _, wrong := range []string{"missing.tar.gz", "half.tar.gz"} {
		require.Error(t, follow(filepath.Join(folder, wrong)), wrong)
		for _, name := range old {
			require.FileExists(t, filepath.Join(folder, name), wrong)
		}
	}
	for range 2 { // once more after an interruption, too
		require.NoError(t, follow(whole))
		for _, name := range old {
			require.NoFileExists(t, filepath.Join(folder, name))
		}
		require.FileExists(t, filepath.Join(here, "acme-agent.policy.yaml"))
		said, err := os.ReadFile(filepath.Join(here, "said"))
		require.NoError(t, err)
		require.Equal(t, "upgrade\n", string(said))
	}
}

// TestNoPackageHasRulesOfTheField: the rules of examples/field were never tried on a device, so no package has one, under whatever name.
func TestNoPackageHasRulesOfTheField(t *testing.T) {
	first, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	var tree Tree
	for _, b := range []*Brand{first, second(t)} {
		for _, f := range formats {
			files, err := b.linux(release, f.name, programs{}, nil)
			require.NoError(t, err)
			tree = append(tree, files...)
			tree = append(tree, b.legal(f.name, b.Product.Program, release, nil, nil)...)
		}
		windows, err := b.base(programs{}, ".exe", "w")
		require.NoError(t, err)
		policies, err := b.policies()
		require.NoError(t, err)
		tree = slices.Concat(tree, windows, policies, Tree{{Path: "README", Data: b.portableReadme(release, true)}})
	}
	require.NotEmpty(t, tree)
	names := make(map[string]bool)
	require.NoError(t, filepath.WalkDir("../examples/field", func(path string, d fs.DirEntry, err error) error {
		names[d.Name()] = !d.IsDir()
		return err
	}))
	require.Greater(t, len(names), 40)
	for _, f := range tree {
		require.False(t, names[filepath.Base(f.Path)], f.Path)
		require.NotContains(t, string(f.Data), "field.example", f.Path)
	}
	embedded, err := os.ReadFile("../examples/embed.go")
	require.NoError(t, err)
	patterns := regexp.MustCompile(`//go:embed .*`).FindAllString(string(embedded), -1)
	require.Equal(t, []string{"//go:embed acme.yaml"}, patterns, "nor has a program")
}
