package paths

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// The agents' folder is that of local application data, and is found without the shell.
func TestAgentsFolderWithoutTheShell(t *testing.T) {
	folder, err := AgentsFolder(nil)
	require.NoError(t, err)
	var shell windows.Handle
	name, err := windows.UTF16PtrFromString("shell32.dll")
	require.NoError(t, err)
	require.ErrorIs(t, windows.GetModuleHandleEx(windows.GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, name, &shell), windows.ERROR_MOD_NOT_FOUND)
	data, err := windows.KnownFolderPath(windows.FOLDERID_LocalAppData, 0)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(data, "Sidetone"), folder)
}
