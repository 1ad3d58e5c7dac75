package paths

import (
	"os"
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
	require.NoError(t, RefuseSystemSettings(filepath.Join(folder, "missing", "config.yaml")), "there are none")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	owner, err := ownerAt(file)
	require.NoError(t, err)
	if acl.IsAdministrators(owner) {
		require.NoError(t, RefuseSystemSettings(file), "this user has all rights of an administrator")
		return
	}
	require.Equal(t, session.User(), owner)
	require.ErrorContains(t, RefuseSystemSettings(file), folder+" belongs to user "+owner)
	for sid, is := range map[string]bool{"S-1-5-32-544": true, "S-1-5-18": true, "S-1-5-32-545": false, "S-1-1-0": false, "": false, owner: false} {
		require.Equal(t, is, acl.IsAdministrators(sid), sid)
	}
}
