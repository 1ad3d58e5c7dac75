//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/installer/signtest"
)

// TestNothingIsLeftOfABuildThatFails: packages that are in no list of checksums, or without a signature, are not there to be shipped.
func TestNothingIsLeftOfABuildThatFails(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	o := options{out: filepath.Join(t.TempDir(), "dist"), programs: t.TempDir(), release: release}
	require.Error(t, o.run(t.Context(), b))
	require.NoDirExists(t, o.out)
}

// TestSigned runs the command of docs/packaging.md with a key of its own: what it signs is verified, and a changed byte is seen by the
// signature and by the checksums, which are signed, too.
func TestSigned(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	o := options{out: t.TempDir(), sign: signtest.Command(t, "../docs"), release: release}
	require.NoError(t, o.place("acme-agent_1.2.3_amd64.deb", []byte("a package")))
	require.NoError(t, o.place("acme-agent_1.2.3_amd64.deb.cdx.json", []byte("{}")))
	require.NoError(t, o.finish(t.Context(), b))
	names, err := o.results()
	require.NoError(t, err)
	require.Equal(t, []string{
		"SHA256SUMS", "SHA256SUMS.asc",
		"acme-agent_1.2.3_amd64.deb", "acme-agent_1.2.3_amd64.deb.asc", "acme-agent_1.2.3_amd64.deb.cdx.json", "provenance.json",
	}, names)

	sums := func() error {
		cmd := exec.Command("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
		cmd.Dir = o.out
		return cmd.Run()
	}
	pack, list := filepath.Join(o.out, names[2]), filepath.Join(o.out, names[0])
	require.NoError(t, signtest.Verify(pack))
	require.NoError(t, signtest.Verify(list))
	require.NoError(t, sums())
	signtest.Flip(t, pack)
	require.Error(t, signtest.Verify(pack))
	require.Error(t, sums())
	signtest.Flip(t, list)
	require.Error(t, signtest.Verify(list))

	o.sign = "false"
	require.ErrorContains(t, o.finish(t.Context(), b), `by "false"`)
}
