package pulse

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestAddress(t *testing.T) {
	const run = "/run/user/1000"
	server := func(s string) map[string]string {
		return map[string]string{"PULSE_SERVER": s, "PULSE_RUNTIME_PATH": "/p", "XDG_RUNTIME_DIR": run}
	}
	for name, c := range map[string]struct {
		env         map[string]string
		exists      []string
		want, fails string
	}{
		"session":                 {env: map[string]string{"XDG_RUNTIME_DIR": run}, want: run + "/pulse/native"},
		"runtime path wins":       {env: map[string]string{"XDG_RUNTIME_DIR": run, "PULSE_RUNTIME_PATH": "/p"}, want: "/p/native"},
		"server wins":             {env: server("unix:/s"), want: "/s"},
		"bare path":               {env: server("/s"), want: "/s"},
		"blank is unset":          {env: server("  "), want: "/p/native"},
		"this machine":            {env: server("{m1}unix:/s"), want: "/s"},
		"this machine, bare path": {env: server("{m1}/s"), want: "/s"},
		"first that exists":       {env: server("unix:/a unix:/b {m2}unix:/c"), exists: []string{"/b", "/c"}, want: "/b"},
		"none exists yet":         {env: server("unix:/a unix:/b"), want: "/a"},
		"local after remote":      {env: server("tcp:host:4713 {m1}unix:/b"), want: "/b"},
		"nothing":                 {fails: "set XDG_RUNTIME_DIR"},
		"tcp":                     {env: server("tcp:host:4713"), fails: "tcp:host:4713"},
		"host":                    {env: server("host"), fails: "not plugged in here"},
		"relative":                {env: server("unix:s"), fails: "not a unix socket"},
		"other machine":           {env: server("{m2}unix:/s"), fails: "another machine"},
		"no brace":                {env: server("{m1unix:/s"), fails: "closing brace"},
	} {
		t.Run(name, func(t *testing.T) {
			exists := func(path string) bool {
				for _, p := range c.exists {
					if p == path {
						return true
					}
				}
				return false
			}
			got, err := address(env(c.env), func() string { return "m1" }, exists)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAddressOfThisMachine(t *testing.T) {
	id := machineID()
	require.NotEmpty(t, id)
	got, err := Address(env(map[string]string{"PULSE_SERVER": "{" + id + "}unix:/s"}))
	require.NoError(t, err)
	require.Equal(t, "/s", got)
}

func TestLoadCookie(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b byte, size int) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{b}, size), 0o600))
		return path
	}
	zeros := make([]byte, 256)
	home := map[string]string{"HOME": dir}
	require.Equal(t, zeros, LoadCookie(env(nil)))
	require.Equal(t, zeros, LoadCookie(env(home)))

	write(".pulse-cookie", 1, 256)
	require.Equal(t, bytes.Repeat([]byte{1}, 256), LoadCookie(env(home)))
	write(".config/pulse/cookie", 2, 256)
	require.Equal(t, bytes.Repeat([]byte{2}, 256), LoadCookie(env(home)))
	write("xdg/pulse/cookie", 3, 300)
	home["XDG_CONFIG_HOME"] = filepath.Join(dir, "xdg")
	require.Equal(t, bytes.Repeat([]byte{3}, 256), LoadCookie(env(home)))

	home["PULSE_COOKIE"] = write("own", 4, 256)
	require.Equal(t, bytes.Repeat([]byte{4}, 256), LoadCookie(env(home)))
	home["PULSE_COOKIE"] = write("short", 5, 255)
	require.Equal(t, zeros, LoadCookie(env(home)), "a set but unusable file is not replaced by another")
	home["PULSE_COOKIE"] = dir
	require.Equal(t, zeros, LoadCookie(env(home)))
}
