package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIPCFolders(t *testing.T) {
	for _, c := range []struct {
		name    string
		goos    string
		env     map[string]string
		setting []string
		want    []string
	}{
		{"nothing set", "linux", nil, nil, []string{"/tmp"}},
		{"first set wins", "linux", map[string]string{"TMPDIR": "/a/", "TMP": "/b", "TEMP": "/c"}, nil, []string{"/a"}},
		{"TMP", "darwin", map[string]string{"TMP": "/b", "TEMP": "/c"}, nil, []string{"/b"}},
		{"TEMP", "linux", map[string]string{"TEMP": "/c"}, nil, []string{"/c"}},
		{"relative", "linux", map[string]string{"XDG_RUNTIME_DIR": "run", "TMPDIR": "/a"}, nil, []string{"/a"}},
		{"runtime folder", "linux", map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "TMPDIR": "/a"}, nil, []string{
			"/run/user/7",
			"/run/user/7/app/com.discordapp.Discord",
			"/run/user/7/snap.discord",
			"/run/user/7/app/com.discordapp.DiscordPTB",
			"/run/user/7/app/com.discordapp.DiscordCanary",
			"/run/user/7/snap.discord-canary",
		}},
		{"Windows", "windows", map[string]string{"TMP": `C:\Temp`}, nil, []string{`\\.\pipe\`}},
		{"the setting replaces all", "linux", map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, []string{"/x", "/y"}, []string{"/x", "/y"}},
	} {
		settings := Config{RPC: RPC{IPCFolders: c.setting}}
		require.Equal(t, c.want, settings.IPCFolders(c.goos, func(name string) string { return c.env[name] }), c.name)
	}
}
