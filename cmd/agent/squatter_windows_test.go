package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/winpipe"
)

const squattedEnv = "SIDETONE_TEST_SQUATTED"

// TestSquatterProcess is no test: it is the other user's process of the next one.
func TestSquatterProcess(t *testing.T) {
	path := os.Getenv(squattedEnv)
	if path == "" {
		t.Skip("runs only as a helper of another test")
	}
	l, err := ipctest.Listen(path)
	require.NoError(t, err)
	for err == nil {
		var conn net.Conn
		if conn, err = l.Accept(); err == nil {
			_, _ = conn.Write([]byte("HTTP/1.0 200 OK\r\n\r\n{}"))
			conn.Close()
		}
	}
}

// TestAPipeThatAnotherUserHasTaken: the agent goes on without its local API, and says why; whoever asks for it tells the squatter nothing.
func TestAPipeThatAnotherUserHasTaken(t *testing.T) {
	address := ipctest.Folder(t)
	squatter := exec.Command(os.Args[0], "-test.run=^TestSquatterProcess$")
	squatter.Env = append(os.Environ(), squattedEnv+"="+address)
	squatter.SysProcAttr = &syscall.SysProcAttr{Token: syscall.Token(ipctest.StrangersToken(t))}
	require.NoError(t, squatter.Start())
	t.Cleanup(func() {
		_ = squatter.Process.Kill()
		_ = squatter.Wait()
	})
	require.Eventually(t, func() bool { return winpipe.Exists(address) }, patience, patience/1000)

	env := []string{limitsEnv + "=1", "SIDETONE_CONTROL_SOCKET=" + address, "SIDETONE_CATALOGUE=" + acme(t, "schema: 1", "schema: 1")}
	log := newLines()
	agent := child(t, privateEnv(t, nil, append(env, "SIDETONE_SOURCES_AUDIO=false", "SIDETONE_RPC_TRANSPORTS=ipc",
		"SIDETONE_RPC_IPC_FOLDERS="+ipctest.Folder(t))...), "run")
	agent.Stdout, agent.Stderr = log, log
	require.NoError(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	require.Eventually(t, func() bool {
		said, _ := log.snapshot()
		return strings.Contains(strings.Join(said, "\n"), "another program has a pipe of this name; end it")
	}, patience, patience/1000)
	for _, args := range [][]string{{"status"}, {"push", "acme-headset-700", "hardware_mute=true"}, {"doctor"}} {
		o := sidetone(t, env, args...)
		require.Equal(t, exitFailed, o.code)
		require.Contains(t, o.stdout+o.stderr, "belongs to another user", "%v", args)
	}
}
