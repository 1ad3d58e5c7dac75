//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
)

// second is the example as another vendor's.
func second(t *testing.T) *Brand {
	t.Helper()
	cat, err := os.ReadFile("../examples/acme.yaml")
	require.NoError(t, err)
	path := changed(t, "program: acme-agent", "program: beta-agent", "  id: acme ", "  id: beta ", `"123456789012345678"`,
		`"223456789012345678"`,
		"[../examples/acme.yaml]", "[catalogue]", "6B2F6C0E", "7B2F6C0E")
	folder := filepath.Join(filepath.Dir(path), "catalogue")
	require.NoError(t, os.Mkdir(folder, 0o755))
	text := strings.NewReplacer("id: acme ", "id: beta ", "123456789012345678", "223456789012345678").Replace(string(cat))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "beta.yaml"), []byte(text), 0o600))
	b, err := LoadBrand(path)
	require.NoError(t, err)
	return b
}

// TestTwoBrandsShareNoFile, nor does one name the other's, or this project.
func TestTwoBrandsShareNoFile(t *testing.T) {
	first, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	paths := make(map[string]string)
	for _, b := range []*Brand{first, second(t)} {
		name := b.Product.Program
		tree, err := b.linux(release, "deb", programs{[]byte("agent"), []byte("tray")}, map[string][]byte{
			name + ".1": nil, name + "-run.1": nil, name + ".bash": nil, name + ".zsh": nil, name + ".fish": nil,
		})
		require.NoError(t, err)
		tree = append(tree, b.legal("deb", name, release, nil, nil)...)
		for _, f := range tree {
			require.NotContains(t, paths, f.Path)
			paths[f.Path] = name
			require.Regexp(t, strings.ReplaceAll(name, "-", "[-_]"), f.Path)
			require.NotContains(t, f.Path, "sidetone")
			if strings.HasSuffix(f.Path, ".rules") || strings.Contains(f.Path, "systemd") || strings.HasSuffix(f.Path, ".desktop") {
				require.NotContains(t, string(f.Data), "sidetone", f.Path)
			}
		}
	}
	require.Len(t, paths, 2*23)
}

// TestFilesForTheDesktop are what the desktop's own programs take.
func TestFilesForTheDesktop(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	tree, err := b.linux(release, "rpm", programs{}, nil)
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, tree.write(folder))
	for _, check := range [][]string{
		{"desktop-file-validate", folder + "/usr/share/applications/acme-agent.desktop"},
		{"desktop-file-validate", folder + "/etc/xdg/autostart/acme-agent-tray.desktop"},
		{"appstreamcli", "validate", "--no-net", folder + "/usr/share/metainfo/example.acme.acme_agent.metainfo.xml"},
	} {
		out, err := exec.Command(check[0], check[1:]...).CombinedOutput()
		require.NoError(t, err, "`make deps` installs the program: %s", out)
	}
}

// TestHardwareOfSoftwareCentres is what is attached by USB: the numbers of Bluetooth are others' there.
func TestHardwareOfSoftwareCentres(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	b.whole = &catalogue.Catalogue{Products: []catalogue.Product{{Links: []catalogue.Link{
		{Kind: catalogue.LinkDongle, VID: "12ab", PIDs: []string{"000f"}}, {Kind: catalogue.LinkBluetooth, VID: "00ab", PIDs: []string{"0001"}},
	}}}}
	require.Regexp(t, `<binary>acme-agent</binary>\s*<modalias>usb:v12ABp000Fd\*</modalias>\s*</provides>`, string(b.metainfo(release)))
}

// TestScriptsAreShell for every format, as sh and shellcheck read it.
func TestScriptsAreShell(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	for format := range calls {
		for name, text := range b.scripts(format) {
			require.NotContains(t, text, "@NAME@")
			if format == "archlinux" {
				text = "#!/bin/sh\nset -e\n" + text
			}
			file := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := exec.Command("sh", "-n", file).CombinedOutput()
			require.NoError(t, err, "%s %s: %s", format, name, out)
			out, err = exec.Command("shellcheck", "--exclude=SC2317,SC2329", file).CombinedOutput() // what this script does not call
			require.NoError(t, err, "%s %s (`make deps` installs shellcheck): %s", format, name, out)
		}
	}
}

// TestEveryoneAtOnce: of many users one after the other, each may take the whole time, while the package manager keeps its lock. Here each
// ends only once all have begun.
func TestEveryoneAtOnce(t *testing.T) {
	const script = `
as_user() {
	echo "$1 $2 $4" >>said
	tries=300
	until [ "$(wc -l <said)" -eq 8 ]; do
		[ $tries -gt 0 ] || exit 1
		tries=$((tries - 1))
		sleep 0.1
	done
	[ "$2" != 1003 ]
}
everyone "1001 1002 1003 1004 1005 1006 1007 1008" 30 program upgrade`
	cmd := exec.Command("sh", "-ec", sessions+script)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "1003\n", string(out), "for whom it failed")
	said, err := os.ReadFile(filepath.Join(cmd.Dir, "said"))
	require.NoError(t, err)
	require.Len(t, strings.Fields(string(said)), 3*8)
}
