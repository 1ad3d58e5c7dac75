package app

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/config"
	"sidetone/internal/platform/paths"
)

func TestFoldersOfTheSettingReplaceTheSystems(t *testing.T) {
	host := Host{Getenv: func(string) string { return "/run/user/7" }}
	set := Settings{Config: config.Default()}
	require.Equal(t, paths.ClientSockets(runtime.GOOS, host.Getenv), set.ipcFolders(host))
	set.Config.RPC.IPCFolders = []string{"/x", "/y"}
	require.Equal(t, []string{"/x", "/y"}, set.ipcFolders(host))
}
