//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/ipctest"
)

// TestSigned runs the command of docs/packaging.md with a key of its own: what it signs is verified, and a changed byte is seen by the
// signature and by the checksums.
func TestSigned(t *testing.T) {
	home := ipctest.Folder(t) // the path of gpg's socket has to be short
	t.Setenv("GNUPGHOME", home)
	t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() })
	out, err := exec.Command("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "Test <test@acme.example>", "ed25519", "sign", "never").CombinedOutput()
	require.NoError(t, err, "%s", out)

	page, err := os.ReadFile("../docs/packaging.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```sh\n")
	require.True(t, found)
	script, _, _ := strings.Cut(rest, "```")
	command := filepath.Join(t.TempDir(), "sign")
	require.NoError(t, os.WriteFile(command, []byte(script), 0o700))

	o := options{out: t.TempDir(), sign: command, release: release}
	require.NoError(t, o.place("acme-agent_1.2.3_amd64.deb", []byte("a package")))
	require.NoError(t, o.place("acme-agent_1.2.3_amd64.deb.cdx.json", []byte("{}")))
	require.NoError(t, o.finish(t.Context()))
	names, err := o.results()
	require.NoError(t, err)
	require.Equal(t, []string{
		"SHA256SUMS", "acme-agent_1.2.3_amd64.deb", "acme-agent_1.2.3_amd64.deb.asc", "acme-agent_1.2.3_amd64.deb.cdx.json", "provenance.json",
	}, names)

	verify := func() error {
		return exec.Command("gpg", "--verify", filepath.Join(o.out, names[2]), filepath.Join(o.out, names[1])).Run()
	}
	sums := func() error {
		cmd := exec.Command("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
		cmd.Dir = o.out
		return cmd.Run()
	}
	require.NoError(t, verify())
	require.NoError(t, sums())
	require.NoError(t, o.place(names[1], []byte("a pAckage")))
	require.Error(t, verify())
	require.Error(t, sums())

	o.sign = "false"
	require.ErrorContains(t, o.finish(t.Context()), `by "false"`)
}
