package keep

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/platform/windows/acl"
)

// TestKeyIsInMemoryAlone: Windows has no other ones below such a key.
func TestKeyIsInMemoryAlone(t *testing.T) {
	text, err := UntilLogOff(nil, "", t.TempDir(), "note")
	require.NoError(t, err)
	require.NoError(t, text.Write([]byte("{}")))
	t.Cleanup(func() { require.NoError(t, text.Remove()) })
	_, _, err = registry.CreateKey(registry.CURRENT_USER, volatileKey+`\kept`, registry.SET_VALUE)
	require.ErrorIs(t, err, windows.ERROR_CHILD_MUST_BE_VOLATILE)
	_, err = UntilLogOff(nil, "", "", "note")
	require.Error(t, err, "all agents would share it")
}

// TestNextLogOnHasNoneOfTheTextsBefore, although the key may be there still: a program of the user that does not end keeps it.
func TestNextLogOnHasNoneOfTheTextsBefore(t *testing.T) {
	folder := t.TempDir()
	before, err := UntilLogOff(nil, "", folder, "note")
	require.NoError(t, err)
	require.NoError(t, before.Write([]byte("{}")))
	t.Cleanup(func() { require.NoError(t, before.Remove()) })
	logon, err := acl.LogonOf(windows.GetCurrentProcessToken())
	require.NoError(t, err)
	require.Equal(t, before, valueOf(filepath.Join(folder, "note"), logon))
	_, err = valueOf(filepath.Join(folder, "note"), logon+1).Read()
	require.ErrorIs(t, err, fs.ErrNotExist)
}
