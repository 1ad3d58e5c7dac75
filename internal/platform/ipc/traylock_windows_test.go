package ipc

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/ipctest"
)

func TestASessionHasOneTray(t *testing.T) {
	address := ipctest.Folder(t)
	first, err := LockTray(address, "")
	require.NoError(t, err)
	_, err = LockTray(address, "")
	require.ErrorContains(t, err, "has a tray icon of this agent already")
	agent, err := ListenControl(address)
	require.NoError(t, err, "the agent's own lock is another one")
	require.NoError(t, agent.Close())
	require.NoError(t, first.Close())
	again, err := LockTray(address, "")
	require.NoError(t, err)
	require.NoError(t, again.Close())
	for _, lock := range []func() (string, error){
		func() (string, error) { return trayLockFile(address, "") }, func() (string, error) { return controlLockFile(address) },
	} {
		path, err := lock()
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
	}
}
