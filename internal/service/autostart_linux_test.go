package service

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/platformtest"
)

// homeOf is the environment of a user without a service manager.
func homeOf(t *testing.T) func(string) string {
	t.Helper()
	env := map[string]string{"HOME": t.TempDir(), "XDG_RUNTIME_DIR": platformtest.ShortDir(t)}
	return func(name string) string { return env[name] }
}

func nobodyRuns(context.Context) (Process, error) { return Process{}, fs.ErrNotExist }

func TestAutostartEntry(t *testing.T) {
	getenv := homeOf(t)
	a := Agent{Name: "acme-agent", Executable: "/opt/acme-agent", Arguments: []string{"run"}, Running: nobodyRuns}
	m, err := New(a, getenv)
	require.NoError(t, err)
	path := filepath.Join(getenv("HOME"), ".config/autostart/acme-agent.desktop")
	st, err := m.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, State{Kind: Autostart, Path: path}, st)
	_, err = m.Start(t.Context())
	require.ErrorContains(t, err, "'acme-agent service install' writes it")

	p, err := m.Install(t.Context())
	require.NoError(t, err)
	require.Equal(t, writing(path, a.Entry())+"\n", p.String())
	require.NoFileExists(t, path, "nothing has been done yet")
	require.NoError(t, p.Do(t.Context()))
	again, err := m.Install(t.Context())
	require.NoError(t, err)
	require.Empty(t, again)
	st, err = m.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, State{Kind: Autostart, Path: path, Installed: true, Enabled: true}, st)

	a.Arguments = append(a.Arguments, "--log-level=debug")
	changed, err := New(a, getenv)
	require.NoError(t, err)
	p, err = changed.Install(t.Context())
	require.NoError(t, err)
	require.Len(t, p, 1, "other settings")

	p, err = m.Uninstall(t.Context())
	require.NoError(t, err)
	require.Equal(t, "remove "+path+"\n", p.String())
	require.NoError(t, p.Do(t.Context()))
	require.NoFileExists(t, path)
	p, err = m.Uninstall(t.Context())
	require.NoError(t, err)
	require.Empty(t, p)
	require.ErrorContains(t, m.Logs(t.Context(), nil, 1, false), "keeps its log in ~/.local/state/sidetone/")
}

// TestKindFollowsTheServiceManager: its socket, not a program or a folder, says that there is one.
func TestKindFollowsTheServiceManager(t *testing.T) {
	run := platformtest.ShortDir(t)
	require.False(t, managerIn(run))
	socket := filepath.Join(run, "systemd/private")
	require.NoError(t, os.MkdirAll(filepath.Dir(socket), 0o700))
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	require.True(t, managerIn(run))
	require.NoError(t, l.Close())
	require.NoError(t, os.WriteFile(socket, nil, 0o600))
	require.False(t, managerIn(run))
}

// TestDatagram: what systemd would get, by a path and by an abstract address.
func TestDatagram(t *testing.T) {
	file := filepath.Join(platformtest.ShortDir(t), "notify")
	for _, address := range []string{file, "@" + file} {
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
		require.NoError(t, err)
		defer conn.Close()
		n := NewNotifier(func(name string) string { return map[string]string{notifySocket: address}[name] })
		require.NoError(t, n.send("READY=1"))
		got := make([]byte, 64)
		size, err := conn.Read(got)
		require.NoError(t, err)
		require.Equal(t, "READY=1", string(got[:size]))
	}
	n := NewNotifier(func(name string) string { return map[string]string{notifySocket: "/nowhere"}[name] })
	require.ErrorContains(t, n.send("READY=1"), "tell the service manager READY=1")
}
