package paths

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/session"
	"sidetone/internal/platform/windows/acl"
)

// TestSettingsOfAnybodyAreNotTheAdministrators: in this test all files are this user's.
func TestSettingsOfAnybodyAreNotTheAdministrators(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	folder := filepath.Dir(file)
	require.NoError(t, CheckSystemSettings(filepath.Join(folder, "missing", "config.yaml")), "there are none")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	owner, err := ownerAt(file)
	require.NoError(t, err)
	if acl.IsAdministrators(owner) {
		require.NoError(t, CheckSystemSettings(file), "this user has all rights of an administrator")
		return
	}
	require.Equal(t, session.User(), owner)
	require.ErrorContains(t, CheckSystemSettings(file), folder+" belongs to user "+owner)
	for sid, is := range map[string]bool{
		"S-1-5-32-544": true, "S-1-5-18": true, "S-1-5-32-545": false, "S-1-1-0": false, "": false, owner: false,
	} {
		require.Equal(t, is, acl.IsAdministrators(sid), sid)
	}
}

// A link into a folder of the administrators is not theirs: it could lead elsewhere when the settings are read.
func TestTheOwnerOfALinkIsWhoHasMadeIt(t *testing.T) {
	windowsFolder := os.Getenv("SystemRoot")
	theirs, err := ownerAt(windowsFolder)
	require.NoError(t, err)
	if !acl.IsAdministrators(theirs) {
		t.Skip("all files of Wine belong to one user")
	}
	link := filepath.Join(t.TempDir(), "link")
	out, err := exec.Command("cmd", "/c", "mklink", "/J", link, windowsFolder).CombinedOutput()
	require.NoError(t, err, "%s", out)
	owner, err := ownerAt(link)
	require.NoError(t, err)
	require.NotEqual(t, theirs, owner)
}
