package packagetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/installer/signtest"
)

// TestSignedRPM: rpm takes a package that the command of docs/packaging.md has signed, and not with a flipped byte.
func TestSignedRPM(t *testing.T) {
	needs(t, "gpg", "rpm", "rpmsign")
	folder := t.TempDir()
	pack := build(t, "installer/brand.yaml", "rpm", "1.0.0", folder, "-sign", signtest.Command(t, "../../docs"))
	keys, public := filepath.Join(folder, "keys"), filepath.Join(folder, "key.asc")
	require.NoError(t, os.Mkdir(keys, 0o700))
	check := func() (string, error) {
		out, err := exec.Command("rpm", "--dbpath", keys, "--checksig", "--verbose", pack).CombinedOutput()
		return string(out), err
	}
	said, err := check()
	require.Error(t, err, "of a key that is not known: %s", said)
	signtest.Run(t, "gpg", "--export", "--armor", "--output", public)
	signtest.Run(t, "rpm", "--dbpath", keys, "--import", public)
	said, err = check()
	require.NoError(t, err, said)
	require.Regexp(t, `Signature, key ID [0-9a-f]+: OK`, said)
	signtest.Flip(t, pack)
	said, err = check()
	require.Error(t, err, said)
}
