package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// TestServiceWithoutManager has the desktop start the agent: the same verbs, and no word of a restart.
func TestServiceWithoutManager(t *testing.T) {
	t.Parallel()
	folder := privateFolder(t)
	port := freePort(t)
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{port}, IPCDir: folder})
	require.NoError(t, err)
	defer client.Close()
	catalogue := catalogueOf(t, "acme", "123456789012345678")
	settings := write(t, "settings.yaml", "sources: {audio: false, camera: false, files: ["+
		write(t, "endpoints.yaml", "endpoints: ["+microphone("Mic")+"]\n")+fmt.Sprintf("]}\nrpc: {ports: %d}\n", port))
	home := filepath.Join(folder, "home")
	env := []string{"XDG_RUNTIME_DIR=" + folder, "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config")}
	service := func(args ...string) output { return sidetone(t, env, append([]string{"service"}, args...)...) }
	install := []string{"install", "--config", settings, "--catalogue", catalogue}

	o := service("status")
	require.Equal(t, exitFailed, o.code, o.stderr)
	require.Contains(t, o.stdout, "the desktop, at log-in; nothing restarts it")
	require.Contains(t, o.stdout, "(not there)")
	o = service(append(install, "--print")...)
	require.Equal(t, exitOK, o.code, o.stderr)
	entry := filepath.Join(home, ".config/autostart", programName(t)+".desktop")
	require.True(t, strings.HasPrefix(o.stdout, "write "+entry+":\n\n    # Written by"), o.stdout)
	require.Contains(t, o.stdout, `"run" "--config=`+settings+`" "--catalogue=`+catalogue+`"`)
	require.NoDirExists(t, filepath.Join(home, ".config"), "--print does nothing")

	require.Contains(t, service(install...).stdout, "installed: it starts at the next log-in")
	require.FileExists(t, entry)
	require.Contains(t, service(install...).stdout, "already installed")
	o = service("start")
	require.Equal(t, "started\n", o.stdout, o.stderr)
	comes(t, client, "the list", func() bool { return len(client.DevicesOf("123456789012345678")) == 1 })
	require.Contains(t, service("start").stdout, "it runs already")
	o = service("status")
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Contains(t, o.stdout, "as process ")

	sent := len(client.Payloads())
	require.Contains(t, service("restart").stdout, "started anew")
	comes(t, client, "the list of the new one", func() bool {
		return len(client.Payloads()) > sent+1 && len(client.DevicesOf("123456789012345678")) == 1
	})
	require.Contains(t, service("uninstall", "--print").stdout, "kill -TERM")
	require.Contains(t, service("uninstall").stdout, "uninstalled")
	payloads := client.Payloads()
	require.Empty(t, payloads[len(payloads)-1].Devices, "the farewell")
	require.NoFileExists(t, entry)
	require.Contains(t, service("uninstall").stdout, "not installed, and it does not run")
}

// programName is what this test's agent is called.
func programName(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return filepath.Base(self)
}

// TestServiceRefusesWhatWouldNotStart: wrong settings are seen when they are given, not at the next log-in.
func TestServiceRefusesWhatWouldNotStart(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "service", "install")
	require.Equal(t, exitBadInput, o.code)
	require.Contains(t, o.stderr, "no catalogue: the agent would not start")
	o = sidetone(t, []string{"SIDETONE_CATALOGUE=" + catalogueOf(t, "acme", "123456789012345678")}, "service", "install")
	require.Equal(t, exitBadInput, o.code, "the agent would not have this shell's environment")
	o = sidetone(t, nil, "service", "install", "--catalogue", write(t, "bad.yaml", "schema: 9\n"))
	require.Equal(t, exitBadInput, o.code)
	o = sidetone(t, []string{"SUDO_UID=1000"}, "service", "install", "--catalogue", catalogueOf(t, "acme", "123456789012345678"))
	if os.Geteuid() == 0 {
		require.Equal(t, exitBadInput, o.code)
		require.Contains(t, o.stderr, "without sudo")
	}
}

// TestExitCodeUnderAServiceManager: wrong input is told apart from a crash, which Go ends with 2 as well.
func TestExitCodeUnderAServiceManager(t *testing.T) {
	t.Parallel()
	supervised := []string{"NOTIFY_SOCKET=" + filepath.Join(t.TempDir(), "nobody")}
	require.Equal(t, 78, sidetone(t, supervised, "run").code)
	require.Equal(t, 78, sidetone(t, supervised, "run", "--no-such-flag").code)
	require.Equal(t, exitBadInput, sidetone(t, nil, "run").code)
	require.Equal(t, exitBadInput, sidetone(t, supervised, "config", "check", "--no-such-flag").code)
}
