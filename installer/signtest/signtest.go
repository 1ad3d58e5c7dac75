//go:build linux

// Package signtest is the command that signs of docs/packaging.md, with keys that only a test has.
package signtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/ipctest"
)

// Command makes a key, in a keyring that all programs of the test use, and returns the path of the command. docs is the folder of the page.
func Command(t *testing.T, docs string) string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "sign")
	require.NoError(t, os.WriteFile(command, []byte(script(t, docs)), 0o700))

	home := ipctest.Folder(t) // the path of gpg's socket has to be short
	t.Setenv("GNUPGHOME", home)
	t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() })
	Run(t, "gpg", "--batch", "--passphrase", "", "--quick-generate-key", "Beta <packages@beta.example>", "ed25519", "sign", "never")
	return command
}

func script(t *testing.T, docs string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(docs, "packaging.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```sh\n#!/bin/sh\n# sign")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "```")
	return "#!/bin/sh\n# sign" + text
}

// Run runs a program, which must succeed.
func Run(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", args, out)
}

// Verify has gpg look whether a file is as it was when it was signed.
func Verify(file string) error { return exec.Command("gpg", "--verify", file+".asc", file).Run() }

// Flip changes a byte in the middle of a file.
func Flip(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(file, data, 0o600))
}
