package paths

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientSockets(t *testing.T) {
	for _, c := range []struct {
		name string
		goos string
		env  map[string]string
		want []string
	}{
		{"nothing set", "linux", nil, []string{"/tmp"}},
		{"first set wins", "linux", map[string]string{"TMPDIR": "/a/", "TMP": "/b", "TEMP": "/c"}, []string{"/a"}},
		{"TMP", "darwin", map[string]string{"TMP": "/b", "TEMP": "/c"}, []string{"/b"}},
		{"TEMP", "linux", map[string]string{"TEMP": "/c"}, []string{"/c"}},
		{"relative", "linux", map[string]string{"XDG_RUNTIME_DIR": "run", "TMPDIR": "/a"}, []string{"/a"}},
		{"runtime folder", "linux", map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "TMPDIR": "/a"}, []string{
			"/run/user/7",
			"/run/user/7/app/com.discordapp.Discord",
			"/run/user/7/snap.discord",
			"/run/user/7/app/com.discordapp.DiscordPTB",
			"/run/user/7/app/com.discordapp.DiscordCanary",
			"/run/user/7/snap.discord-canary",
		}},
		{"Windows", "windows", map[string]string{"TMP": `C:\Temp`}, []string{`\\.\pipe\`}},
	} {
		require.Equal(t, c.want, ClientSockets(c.goos, func(name string) string { return c.env[name] }), c.name)
	}
}
