//go:build linux

package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/testlab/ipctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// elsewhere are decoys that no other test can meet.
func elsewhere(t *testing.T) options {
	t.Helper()
	folder, err := os.MkdirTemp("", "foreign") // with a short path, as sockets need it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return options{ports: []int{ipctest.Port(t)}, folders: []string{folder}}
}

func TestWhatIsTouchedIsTold(t *testing.T) {
	for name, c := range map[string]struct{ script, told string }{
		"port":             {`exec 3<>/dev/tcp/127.0.0.1/$PORT; echo hello >&3`, `which says "hello\n"`},
		"home is read":     {`cat ~/.config/sidetone/config.yaml`, "/.config/sidetone/config.yaml was opened"},
		"home is listed":   {`ls ~`, "home was opened"},
		"home is written":  {`touch $XDG_CONFIG_HOME/new`, "/.config/new was made"},
		"runtime folder":   {`mkdir $XDG_RUNTIME_DIR/mine`, "/runtime/mine was made"},
		"socket":           {connectTo("$XDG_RUNTIME_DIR/discord-ipc-3"), "/discord-ipc-3: a connection from process"},
		"sandboxed client": {connectTo("$XDG_RUNTIME_DIR/snap.discord/discord-ipc-0"), "/snap.discord/discord-ipc-0: a connection from process"},
		"temporary folder": {connectTo("$FOLDER/discord-ipc-9"), "/discord-ipc-9: a connection from process"},
		"sound server":     {connectTo("${PULSE_SERVER#unix:}"), "/pulse/native: a connection from process"},
		"session bus":      {connectTo("${DBUS_SESSION_BUS_ADDRESS#unix:path=}"), "/bus: a connection from process"},
		"agent":            {connectTo("$XDG_RUNTIME_DIR/sidetone/acme/agent.sock"), "/agent.sock: a connection from process"},
	} {
		t.Run(name, func(t *testing.T) {
			o := elsewhere(t)
			t.Setenv("PORT", strconv.Itoa(o.ports[0]))
			t.Setenv("FOLDER", o.folders[0])
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitTouched, run(o, []string{"bash", "-c", c.script}, &stdout, &stderr), "%s%s", &stdout, &stderr)
			require.Contains(t, stderr.String(), c.told)
		})
	}
}

func connectTo(path string) string {
	return `python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "` + path + `"`
}

func TestACommandThatTouchesNothing(t *testing.T) {
	for script, code := range map[string]int{
		"true": 0, "exit 7": 7,
		"go list -deps . >/dev/null": 0, // the Go command has its folders elsewhere
		"rm $(mktemp)":               0,
	} {
		t.Run(script, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, code, run(elsewhere(t), []string{"bash", "-c", script}, &stdout, &stderr))
			require.Empty(t, stderr.String())
		})
	}
}

func TestAClientThatRunsIsLeftAlone(t *testing.T) {
	o := elsewhere(t)
	o.ports = append(o.ports, ipctest.Port(t))
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.ports[0])))
	require.NoError(t, err)
	defer l.Close()
	socket := filepath.Join(o.folders[0], "discord-ipc-0")
	ipc, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer ipc.Close()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(o, []string{"true"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), l.Addr().String()+" is not watched")
	require.Contains(t, stderr.String(), socket+" is not watched")
	require.FileExists(t, socket)

	// The other addresses are watched all the same.
	t.Setenv("PORT", strconv.Itoa(o.ports[1]))
	require.Equal(t, exitTouched, run(o, []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$PORT"}, &stdout, &stderr))
}

func TestASocketOfAKilledClientIsReplaced(t *testing.T) {
	o := elsewhere(t)
	socket := filepath.Join(o.folders[0], "discord-ipc-0")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.FileExists(t, socket)
	t.Setenv("SOCKET", socket)
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitTouched, run(o, []string{"bash", "-c", connectTo("$SOCKET")}, &stdout, &stderr), "%s%s", &stdout, &stderr)
	require.Contains(t, stderr.String(), "/discord-ipc-0: a connection from process")
}
