package paths

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

func runtimeFolder(path string) func(string) string {
	return func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": path}[name] }
}

// Shells of one user have the variable of the session or not (su, cron, ssh without PAM).
func TestLocksAreInOnePlaceWhateverTheEnvironment(t *testing.T) {
	with, err := AgentsFolder(runtimeFolder(ipctest.Folder(t)))
	require.NoError(t, err)
	without, err := AgentsFolder(runtimeFolder(""))
	require.NoError(t, err)
	testlab.ExpectedFailure(t, "F5: agents of one user with and without XDG_RUNTIME_DIR do not find each other", func(t testing.TB) {
		require.Equal(t, with, without)
	})
}

// A shell of one user may have the variable of another one (su, an old tmux).
func TestTheRuntimeFolderOfAnotherUserIsNotUsed(t *testing.T) {
	other := "/" // root's
	if os.Geteuid() == 0 {
		other = ipctest.Folder(t)
		require.NoError(t, os.Chown(other, 65534, -1))
	}
	got, err := AgentsFolder(runtimeFolder(other))
	require.NoError(t, err)
	testlab.ExpectedFailure(t, "F6: the runtime folder of another user is taken for this one's", func(t testing.TB) {
		require.NotEqual(t, filepath.Join(other, "sidetone"), got)
	})
}
