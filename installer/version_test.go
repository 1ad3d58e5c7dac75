//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionOfPackages follows from tags, or is asked for: a lower one than was shipped before would be refused on each machine.
func TestVersionOfPackages(t *testing.T) {
	script, err := filepath.Abs("version.sh")
	require.NoError(t, err)
	home := t.TempDir()
	run := func(folder, program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = folder
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(folder),
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	clone := t.TempDir()
	git := func(args ...string) {
		out, err := run(clone, "git", args...)
		require.NoError(t, err, out)
	}
	is := func(want string) {
		out, err := run(clone, "sh", script)
		require.NoError(t, err, out)
		require.Equal(t, want, out)
	}
	refused := func(want string) {
		out, err := run(clone, "sh", script)
		require.Error(t, err, out)
		require.Contains(t, out, want)
		require.Contains(t, out, "PACKAGE_VERSION=")
	}
	refused("no git repository with a commit")
	git("init", "-q")
	refused("no git repository with a commit")
	git("commit", "-q", "--allow-empty", "-m", "one")
	is("0.0.1")
	git("tag", "nightly")
	is("0.0.1")
	git("tag", "v1.4.0")
	is("1.4.0.0")
	git("commit", "-q", "--allow-empty", "-m", "two")
	is("1.4.0.1")
	for _, tag := range []string{"v1.5.0-rc1", "v1.5.0-1", "v1.5b"} {
		git("tag", tag)
		refused("the last tag, " + tag + ", is more")
		git("tag", "-d", tag)
	}
	git("tag", "v1.5.0-rc2")
	git("tag", "v1.5.0")
	is("1.5.0.0")
	git("tag", "-d", "v1.5.0-rc2", "v1.5.0")

	shallow := t.TempDir()
	git("tag", "-d", "v1.4.0")
	git("clone", "-q", "--depth", "1", "file://"+clone, shallow)
	clone = shallow
	refused("not whole")
}

// TestSourceArchive: what it cannot know is asked for at once, all of it.
func TestSourceArchive(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"Makefile", "installer/version.sh"} {
		text, err := os.ReadFile("../" + name)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "tools"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tools/deps.sh"), []byte("echo installs; exit 1"), 0o600))
	run := func(said ...string) string {
		cmd := exec.Command("make", append([]string{"packages"}, said...)...)
		cmd.Dir = folder
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(folder)}
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		return string(out)
	}
	out := run()
	require.NotContains(t, out, "installs")
	require.NotContains(t, out, "fatal")
	for _, name := range []string{"PACKAGE_VERSION=", "COMMIT=", "EPOCH="} {
		require.Equal(t, 1, strings.Count(out, name), out)
	}
	for _, said := range [][]string{{"PACKAGE_VERSION=1"}, {"PACKAGE_VERSION=1", "COMMIT=a"}, {"PACKAGE_VERSION=1", "EPOCH=1"}} {
		out := run(said...)
		require.NotContains(t, out, "installs")
		require.Contains(t, out, "make packages COMMIT=")
	}
	require.Contains(t, run("PACKAGE_VERSION=1", "COMMIT=a", "EPOCH=1"), "installs")
}

// TestVersionsThatSystemsTake: what one of them would not, is said before anything is built.
func TestVersionsThatSystemsTake(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2": "1.2.0", "1.2.3.4": "1.2.3", "255.255.65535": "255.255.65535", "256.0.0": "", "1.0.65536": "",
		"1.2.3.65536": "", "1.x": "", "1.2.3.4.5": "", "": "", "1.-2": "", "1.+2": "", "1..2": "", "2026.1.0": "",
	} {
		got, err := Release{Version: version}.installerVersion()
		require.Equal(t, want, got, version)
		require.Equal(t, want == "", err != nil, version)
	}
	err := options{release: Release{Version: "2026.1.0"}, out: t.TempDir()}.run(t.Context(), nil)
	require.ErrorContains(t, err, "version 2026.1.0: ")
}

// TestOutIsNobodys: a folder is made anew only where it was made here.
func TestOutIsNobodys(t *testing.T) {
	o := options{release: release, out: t.TempDir()}
	file := filepath.Join(o.out, "thesis.txt")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, o.run(t.Context(), nil), "has files that were not made here")
	require.FileExists(t, file)
	require.NoError(t, o.place("SHA256SUMS", nil), "of somebody's downloads")
	require.ErrorContains(t, o.run(t.Context(), nil), "has files that were not made here")
	require.FileExists(t, file)
	require.Error(t, options{release: release, out: file}.run(t.Context(), nil), "no folder")
	require.FileExists(t, file)
	require.NoError(t, o.place("provenance.json", nil))
	require.Error(t, o.run(t.Context(), nil), "there is no LICENSE here")
	require.NoDirExists(t, o.out)
}
