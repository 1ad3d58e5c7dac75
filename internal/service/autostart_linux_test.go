package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab/ipctest"
)

// homeOf is the environment of a user without a service manager.
func homeOf(t *testing.T) func(string) string {
	t.Helper()
	env := map[string]string{"HOME": t.TempDir(), "XDG_RUNTIME_DIR": ipctest.Folder(t)}
	return func(name string) string { return env[name] }
}

func nobodyRuns(context.Context) (Process, error) { return Process{}, fs.ErrNotExist }

func TestAutostartEntry(t *testing.T) {
	getenv := homeOf(t)
	a := Agent{Name: "acme-agent", Executable: "/opt/acme-agent", Arguments: []string{"run"}, Running: nobodyRuns}
	m, err := New(a, "", getenv)
	require.NoError(t, err)
	path := filepath.Join(getenv("HOME"), ".config/autostart/acme-agent.desktop")
	st, err := m.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, State{Kind: Autostart, Path: path}, st)
	_, err = m.Start(t.Context())
	require.ErrorContains(t, err, "'acme-agent service install' writes it")

	p, err := m.Install(t.Context())
	require.NoError(t, err)
	require.Equal(t, writing(path, a.entry().File())+"\n", p.String())
	require.NoFileExists(t, path, "nothing has been done yet")
	require.NoError(t, p.Do(t.Context()))
	again, err := m.Install(t.Context())
	require.NoError(t, err)
	require.Empty(t, again)
	st, err = m.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, State{Kind: Autostart, Path: path, Installed: true, Enabled: true, Missing: a.Executable}, st)
	_, err = m.Start(t.Context())
	require.ErrorContains(t, err, path+" starts /opt/acme-agent, which is not there: run 'acme-agent service install' again")

	a.Arguments = append(a.Arguments, "--log-level=debug")
	changed, err := New(a, "", getenv)
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
}

// TestTrayEntry: installing has the icon start, too, unless the user has said that it is not to, and uninstalling leaves nothing of it.
func TestTrayEntry(t *testing.T) {
	getenv := homeOf(t)
	a := Agent{
		Name: "acme-agent", Executable: "/opt/acme-agent", Running: nobodyRuns,
		Tray: desktop.Entry{ID: "acme-agent-tray", Command: []string{"/opt/acme-agent", "tray"}},
	}
	m, err := New(a, "", getenv)
	require.NoError(t, err)
	do := func(plan func(context.Context) (Plan, error)) int {
		p, err := plan(t.Context())
		require.NoError(t, err)
		require.NoError(t, p.Do(t.Context()))
		return len(p)
	}
	hasTray := func() bool {
		st, err := m.State(t.Context())
		require.NoError(t, err)
		return st.Tray
	}
	path := filepath.Join(getenv("HOME"), ".config/autostart/acme-agent-tray.desktop")
	require.Equal(t, 2, do(m.Install))
	require.FileExists(t, path)
	require.True(t, hasTray())
	require.Zero(t, do(m.Install))

	hidden := a.Tray.File() + "Hidden=true\n"
	require.NoError(t, os.WriteFile(path, []byte(hidden), 0o600))
	require.False(t, hasTray())
	require.Zero(t, do(m.Install))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, hidden, string(text))

	require.Equal(t, 2, do(m.Uninstall))
	require.NoFileExists(t, path)
}

// TestStop: the agent is asked to end, and its end is waited for. One that does not take it is not killed.
func TestStop(t *testing.T) {
	agent := exec.Command("cat")
	in, err := agent.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	ended := make(chan struct{})
	p := Process{PID: agent.Process.Pid, Stop: func(context.Context) error { return errors.New("it is busy") }}
	m, err := New(Agent{Name: "acme-agent", Running: func(context.Context) (Process, error) { return p, nil }}, "", homeOf(t))
	require.NoError(t, err)
	stop := func() error {
		plan, err := m.Stop(t.Context())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("acme-agent stop, and wait for the end of process %d\n", p.PID), plan.String())
		return plan.Do(t.Context())
	}
	require.ErrorContains(t, stop(), "it is busy: end it with kill ")
	p.Stop = func(context.Context) error {
		defer func() {
			go func() {
				defer close(ended)
				_ = agent.Wait()
			}()
		}()
		return in.Close()
	}
	require.NoError(t, stop())
	<-ended
	require.True(t, agent.ProcessState.Success())
}

// TestLogsOfTheFile names the file and shows its end.
func TestLogsOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.log")
	require.NoError(t, os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600))
	a := Agent{Name: "acme-agent", LogFile: func(context.Context) (string, error) { return file, nil }}
	m, err := New(a, "", homeOf(t))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, m.Logs(t.Context(), &out, 2, false))
	require.Equal(t, file+":\ntwo\nthree\n", out.String())

	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error)
	go func() { done <- m.Logs(ctx, w, 1, true) }()
	lines := bufio.NewScanner(r)
	next := func() string {
		require.True(t, lines.Scan())
		return lines.Text()
	}
	require.Equal(t, file+":", next())
	require.Equal(t, "three", next())
	require.NoError(t, os.Rename(file, file+".old")) // as when it is full
	require.NoError(t, os.WriteFile(file, []byte("four\n"), 0o600))
	require.Equal(t, "four", next())
	cancel()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, w.Close())

	a.LogFile = func(context.Context) (string, error) { return "", errors.New("there is none") }
	m, err = New(a, "", homeOf(t))
	require.NoError(t, err)
	require.ErrorContains(t, m.Logs(t.Context(), nil, 1, false), "there is none: 'acme-agent run' in a terminal shows its log")
}

// TestKindFollowsTheServiceManager: its socket, not a program or a folder, says that there is one.
func TestKindFollowsTheServiceManager(t *testing.T) {
	run := ipctest.Folder(t)
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
	file := filepath.Join(ipctest.Folder(t), "notify")
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
