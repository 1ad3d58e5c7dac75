package endtoend

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/fakeserver"
)

const settings = `catalogue: '%[1]sacme.yaml'
sources: {audio: false, camera: false, hid: false, files: ['%[1]sendpoints.yaml']}
rpc: {ports: "%[2]d", transports: [websocket], ipc_folders: ['\\.\pipe\sidetone-none'], tokens: 50}
`

const oneMicrophone = `endpoints: [{id: mic, type: audioinput, name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", serial: A1}]`

// serviceState is what 'service status --json' says.
type serviceState struct {
	Kind                              string
	Installed, Enabled, Tray, Running bool
	PID                               int
}

// TestServiceAtLogIn has the agent start at log-in, as users do: the client's list is whole again after a kill, a new program, a log-in and
// crashes, and empty after a stop.
func TestServiceAtLogIn(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, ClientIDs: []string{"123456789012345678"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	place := t.TempDir()
	folder := `Z:` + strings.ReplaceAll(place, "/", `\`) + `\`
	for name, content := range map[string][]byte{
		"acme.yaml": examples.Acme, "endpoints.yaml": []byte(oneMicrophone),
		"config.yaml":  fmt.Appendf(nil, settings, folder, client.Port()),
		"sidetone.exe": nil, "sidetonew.exe": nil, "sidetone-service.exe": nil,
	} {
		if content == nil {
			content, err = os.ReadFile(filepath.Join(*programs, name))
			require.NoError(t, err)
		}
		require.NoError(t, os.WriteFile(filepath.Join(place, name), content, 0o700))
	}
	service := func(args ...string) (string, int) {
		return p.run(folder+"sidetone.exe", append([]string{"service"}, args...)...)
	}
	does := func(says string, args ...string) {
		t.Helper()
		out, code := service(args...)
		require.Zero(t, code, "%v: %s", args, out)
		require.Contains(t, out, says)
	}
	state := func() (st serviceState) {
		out, _ := p.command(t.Context(), "run", folder+"sidetone.exe", "service", "status", "--json").Output()
		_ = json.Unmarshal(out, &st)
		return st
	}
	listed := func(what string, n int) {
		t.Helper()
		p.eventually(what, func() bool { return len(client.Devices()) == n })
	}
	another := func(what string, than int) (pid int) {
		t.Helper()
		p.eventually(what, func() bool { pid = state().PID; return pid != 0 && pid != than })
		return pid
	}

	out, code := service("install", "--as", "service", "--config", folder+"config.yaml")
	require.NotZero(t, code)
	require.Contains(t, out, "none of the administrators")
	does("host run --config="+folder+"config.yaml", "install", "--config", folder+"config.yaml", "--print")
	require.False(t, state().Installed, "it was only printed")
	does("installed", "install", "--config", folder+"config.yaml")
	does("already installed", "install", "--config", folder+"config.yaml")
	does("started", "start")
	does("it runs already", "start")
	listed("started", 1)
	pid := another("it runs", 0)

	_, code = p.run(`C:\windows\system32\taskkill.exe`, "/f", "/pid", strconv.Itoa(pid))
	require.Zero(t, code)
	pid = another("started again after a kill", pid)
	listed("the list is whole again", 1)

	before := len(client.Payloads())
	out, code = p.run(folder+"sidetone.exe", "upgrade")
	require.Zero(t, code, out)
	pid = another("another program in its place", pid)
	p.eventually("which is connected to the client", func() bool { return len(client.Payloads()) > before })
	require.Len(t, client.Devices(), 1)

	does("stopped", "stop")
	require.Empty(t, client.Devices())
	require.False(t, state().Running, "nobody has started it again")
	does("it does not run", "stop")

	_, _ = p.run(`C:\windows\system32\wineboot.exe`)
	listed("started at the log-in", 1)
	next := another("it answers", 0)
	require.NotEqual(t, pid, next)
	require.Equal(t, "run", state().Kind)
	p.crashUntilSafe(folder+"sidetone.exe", client, next, another)

	does("uninstalled", "uninstall")
	require.Empty(t, client.Devices())
	st := state()
	require.False(t, st.Installed || st.Running || st.Tray)
	does("not installed, and it does not run", "uninstall")
}
