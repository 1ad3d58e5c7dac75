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
	id := machineID()
	require.NotEmpty(t, id)
	server := func(s string) map[string]string {
		return map[string]string{"PULSE_SERVER": s, "PULSE_RUNTIME_PATH": "/p", "XDG_RUNTIME_DIR": run}
	}
	for name, c := range map[string]struct {
		env     map[string]string
		setting string
		want    []string
		fails   string
	}{
		"session":                 {env: map[string]string{"XDG_RUNTIME_DIR": run}, want: []string{run + "/pulse/native"}},
		"runtime path wins":       {env: map[string]string{"XDG_RUNTIME_DIR": run, "PULSE_RUNTIME_PATH": "/p"}, want: []string{"/p/native"}},
		"server wins":             {env: server("unix:/s"), want: []string{"/s"}},
		"the setting wins":        {env: server("unix:/s"), setting: "/set unix:/b", want: []string{"/set", "/b"}},
		"the setting is foreign":  {env: server("unix:/s"), setting: "tcp:host", fails: "sources.pulse_server names no sound server"},
		"bare path":               {env: server("/s"), want: []string{"/s"}},
		"blank is unset":          {env: server("  "), want: []string{"/p/native"}},
		"this machine":            {env: server("{" + id + "}unix:/s"), want: []string{"/s"}},
		"this machine, bare path": {env: server("{" + id + "}/s"), want: []string{"/s"}},
		"several":                 {env: server("unix:/a unix:/b {m2}unix:/c"), want: []string{"/a", "/b"}},
		"local after remote":      {env: server("tcp:host:4713 {" + id + "}unix:/b"), want: []string{"/b"}},
		"nothing":                 {fails: "set XDG_RUNTIME_DIR"},
		"tcp":                     {env: server("tcp:host:4713"), fails: "tcp:host:4713"},
		"host":                    {env: server("host"), fails: "not plugged in here"},
		"relative":                {env: server("unix:s"), fails: "not a unix socket"},
		"other machine":           {env: server("{m2}unix:/s"), fails: "another machine"},
		"no brace":                {env: server("{m1unix:/s"), fails: "closing brace"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Places{Setting: c.setting, Getenv: env(c.env)}.Find()
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got.Sockets)
		})
	}
}

// machine is a folder with a home, /etc and /run of its own.
type machine struct {
	t *testing.T
	Places
	env map[string]string
}

func newMachine(t *testing.T) machine {
	root := t.TempDir()
	m := machine{t, Places{Etc: filepath.Join(root, "etc"), Run: filepath.Join(root, "run")}, map[string]string{"HOME": filepath.Join(root, "home")}}
	m.Getenv = env(m.env)
	return m
}

// home returns the path of a file in the home.
func (m machine) home(name string) string { return filepath.Join(m.env["HOME"], name) }

func (m machine) write(path, text string) string {
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (m machine) find() Location {
	at, err := m.Find()
	require.NoError(m.t, err)
	return at
}

func TestClientConfNamesTheServer(t *testing.T) {
	m := newMachine(t)
	m.env["XDG_RUNTIME_DIR"] = "/u"
	shared := filepath.Join(m.Run, "pulse", "native")
	require.Equal(t, []string{"/u/pulse/native", shared}, m.find().Sockets, "nothing names one")

	etc := m.write(filepath.Join(m.Etc, "pulse", "client.conf"), "default-server = unix:/etc-says\n")
	require.Equal(t, []string{"/etc-says"}, m.find().Sockets)
	part := m.write(etc+".d/50-site.conf", "default-server = /part /other\n")
	m.write(etc+".d/60-site.conf.bak", "default-server = /no\n")
	require.NoError(t, os.Symlink("/nonexistent", etc+".d/70-leads-nowhere.conf"))
	require.Equal(t, []string{"/part", "/other"}, m.find().Sockets)
	m.write(part, "default-server =\n")
	require.Equal(t, []string{"/u/pulse/native", shared}, m.find().Sockets, "the later value counts")

	m.write(m.home(".config/pulse/client.conf"), "; default-server = /a\n\n# x\n[any]\nautospawn = no\ndefault-server=/mine ; mine\n")
	require.Equal(t, []string{"/mine"}, m.find().Sockets, "the user's file replaces the administrator's")
	m.write(m.home(".pulse/client.conf"), "default-server = /old\n")
	require.Equal(t, []string{"/old"}, m.find().Sockets)
	m.env["PULSE_CONFIG_PATH"] = filepath.Dir(m.write(m.home("folder/client.conf"), "default-server = /folder"))
	require.Equal(t, []string{"/folder"}, m.find().Sockets)
	m.env["PULSE_CLIENTCONFIG"] = m.write(m.home("file"), "default-server = /file")
	require.Equal(t, []string{"/file"}, m.find().Sockets)

	m.env["PULSE_SERVER"] = "unix:/environment"
	require.Equal(t, []string{"/environment"}, m.find().Sockets)
	m.Setting = "/setting"
	require.Equal(t, []string{"/setting"}, m.find().Sockets)
}

// TestClientConfThatSetsNothing, such as the one that comes with Debian's libpulse0, does not tell that there is a server.
func TestClientConfThatSetsNothing(t *testing.T) {
	m := newMachine(t)
	m.env["XDG_RUNTIME_DIR"] = "/u"
	require.False(t, m.find().Configured)
	etc := m.write(filepath.Join(m.Etc, "pulse", "client.conf"), "# Default values are commented out.\n\n; default-server =\n[any]\n")
	require.False(t, m.find().Configured)
	part := m.write(etc+".d/50-site.conf", "autospawn = no\n")
	require.True(t, m.find().Configured)
	m.write(part, "")
	require.False(t, m.find().Configured)
	for _, wrong := range []string{".include /site.conf", "default-server ="} {
		m.write(part, wrong)
		require.True(t, m.find().Configured, "something is meant")
	}
	require.NoError(t, os.Remove(part))
	require.NoError(t, os.Mkdir(part, 0o700))
	require.True(t, m.find().Configured, "nobody knows what it says")
	m.write(m.home(".pulse/client.conf"), "")
	require.False(t, m.find().Configured, "the user's file replaces the administrator's")
}

func TestClientConfOfAnotherMachine(t *testing.T) {
	m := newMachine(t)
	m.env["XDG_RUNTIME_DIR"] = "/u"
	path := m.write(m.home(".config/pulse/client.conf"), "default-server = tcp:studio.example:4713\n")
	_, err := m.Find()
	require.ErrorContains(t, err, path+" names no sound server of this machine")
	require.ErrorContains(t, err, "not plugged in here")
}

func TestClientConfThatCannotBeRead(t *testing.T) {
	m := newMachine(t)
	m.env["XDG_RUNTIME_DIR"] = "/u"
	path := m.write(m.home(".config/pulse/client.conf"), "default-server = /above\nwhat is this\ndefault-server = /below\n")
	at := m.find()
	require.Equal(t, []string{"/above"}, at.Sockets)
	require.EqualError(t, at.Unread, path+`:2: "what is this" has no '='`)

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	at = m.find()
	require.Equal(t, "/u/pulse/native", at.Sockets[0])
	require.ErrorContains(t, at.Unread, path+": is not a regular file")
}

func TestServerOfAllUsers(t *testing.T) {
	m := newMachine(t)
	_, err := m.Find()
	require.ErrorContains(t, err, "set XDG_RUNTIME_DIR", "neither is there")
	shared := m.write(filepath.Join(m.Run, "pulse", "native"), "")
	require.Equal(t, []string{shared}, m.find().Sockets)
	m.env["PULSE_RUNTIME_PATH"] = "/p"
	require.Equal(t, []string{"/p/native", shared}, m.find().Sockets, "the user's own comes first")
}

func TestCookie(t *testing.T) {
	m := newMachine(t)
	write := func(name string, b byte, size int) string {
		return m.write(m.home(name), string(bytes.Repeat([]byte{b}, size)))
	}
	is := func(b byte, msg ...any) {
		t.Helper()
		at, _ := m.Find() // no server is needed
		require.Equal(t, bytes.Repeat([]byte{b}, 256), at.Cookie, msg...)
	}
	is(0)
	write(".pulse-cookie", 1, 256)
	is(1)
	write(".config/pulse/cookie", 2, 256)
	is(2)
	m.env["XDG_CONFIG_HOME"] = m.home("xdg")
	write("xdg/pulse/cookie", 3, 300)
	is(3)

	m.write(filepath.Join(m.Etc, "pulse", "client.conf"), "cookie-file = site/cookie\n")
	is(3, "there is no such file")
	write("xdg/pulse/site/cookie", 4, 256)
	is(4, "relative to the user's settings")
	m.write(m.home(".config/pulse/client.conf"), "cookie-file = "+write("mine", 5, 256)+"\n")
	is(5)

	m.env["PULSE_COOKIE"] = write("own", 6, 256)
	is(6)
	m.env["PULSE_COOKIE"] = write("short", 7, 255)
	is(0, "a set but unusable file is not replaced by another")
	m.env["PULSE_COOKIE"] = m.env["HOME"]
	is(0)
}
