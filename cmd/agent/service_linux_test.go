package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServiceWithoutManager has the desktop start the agent: the same verbs, and no word of a restart.
func TestServiceWithoutManager(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	catalogue := catalogueOf(t, "acme", "123456789012345678")
	settings := write(t, "settings.yaml", "sources: {audio: false, camera: false, files: ["+
		write(t, "endpoints.yaml", "endpoints: ["+microphone("Mic")+"]\n")+fmt.Sprintf("]}\nrpc: {ports: %d}\n", client.Port()))
	home := filepath.Join(folder, "home")
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(folder, "acme-agent")
	require.NoError(t, os.Symlink(self, program))
	require.NoError(t, os.WriteFile(program+"-tray", nil, 0o700))
	env := []string{"XDG_RUNTIME_DIR=" + folder, "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), brandEnv + "=" + program}
	service := func(args ...string) output { return sidetone(t, env, append([]string{"service"}, args...)...) }
	install := []string{"install", "--config", settings, "--catalogue", catalogue}

	o := service("status")
	require.Equal(t, exitFailed, o.code, o.stderr)
	require.Contains(t, o.stdout, "the desktop, at log-in; nothing restarts it")
	require.Contains(t, o.stdout, "(not there)")
	o = service(append(install, "--print")...)
	require.Equal(t, exitOK, o.code, o.stderr)
	entry := filepath.Join(home, ".config/autostart", "acme-agent.desktop")
	require.True(t, strings.HasPrefix(o.stdout, "write "+entry+":\n\n    [Desktop Entry]\n"), o.stdout)
	require.Contains(t, o.stdout, `"run" "--config=`+settings+`" "--catalogue=`+catalogue+`"`)
	icon := strings.TrimSuffix(entry, ".desktop") + "-tray.desktop"
	require.Contains(t, o.stdout, "write "+icon+":\n")
	require.Contains(t, o.stdout, `"tray" "--config=`+settings+`" "--vendor=acme"`, "it may start before the agent")
	require.NoDirExists(t, filepath.Join(home, ".config"), "--print does nothing")

	require.Contains(t, service(install...).stdout, "installed: it starts at the next log-in")
	require.FileExists(t, entry)
	require.FileExists(t, icon)
	require.Contains(t, service(install...).stdout, "already installed")
	o = service("start")
	require.Equal(t, "started\n", o.stdout, o.stderr)
	comes(t, client, "the list", func() bool { return len(client.DevicesOf("123456789012345678")) == 1 })
	require.Contains(t, service("start").stdout, "it runs already")
	o = service("status")
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Contains(t, o.stdout, "as process ")

	env = append(env, "XDG_STATE_HOME="+filepath.Join(home, "elsewhere"))
	o = service("logs")
	require.Contains(t, o.stderr, "no agent has kept a log")
	require.Contains(t, service("restart").stdout, "started anew")
	log := filepath.Join(home, "elsewhere/sidetone/acme/agent.log")
	o = service("logs", "--lines", "1000")
	require.True(t, strings.HasPrefix(o.stdout, log+":\n"), o.stdout+o.stderr)
	require.Contains(t, o.stdout, "sidetone runs")
	comes(t, client, "the list", func() bool { return len(client.DevicesOf("123456789012345678")) == 1 })

	sent := len(client.Payloads())
	require.Contains(t, service("restart").stdout, "started anew")
	comes(t, client, "the list of the new one", func() bool {
		return len(client.Payloads()) > sent+1 && len(client.DevicesOf("123456789012345678")) == 1
	})
	gone := filepath.Join(folder, "gone")
	text := read(t, entry)
	require.NoError(t, os.WriteFile(entry, []byte(strings.ReplaceAll(text, "Exec=\"", "Exec=\""+gone)), 0o600)) // as an update may leave it
	o = service("status")
	require.Contains(t, o.stdout, "names a program that is not there: "+gone, "although it still runs")
	require.Contains(t, o.stdout, "Run 'sidetone service install' again")
	require.Contains(t, service("restart").stderr, "which is not there: run 'acme-agent service install' again")
	require.Contains(t, sidetone(t, env, "doctor").stdout, "names a program that is not there: "+gone)
	require.Contains(t, service(install...).stdout, "installed: it starts at the next log-in")
	require.Equal(t, text, read(t, entry))

	require.Contains(t, service("uninstall", "--print").stdout, " stop, and wait for the end of process ")
	require.Contains(t, service("uninstall").stdout, "uninstalled")
	payloads := client.Payloads()
	require.Empty(t, payloads[len(payloads)-1].Devices, "the farewell")
	require.NoFileExists(t, entry)
	require.NoFileExists(t, icon)
	require.Contains(t, service("uninstall").stdout, "not installed, and it does not run")
}

// TestServiceOfOneOfTwoVendors: the verbs are about the agent that is installed, whichever else runs, and it is replaced by no other.
func TestServiceOfOneOfTwoVendors(t *testing.T) {
	t.Parallel()
	client, folder := clientOfAll(t)
	acme, beta := twoMakers(t, client, folder, [2]string{microphone("Mic of Acme"), microphone("Mic of Beta")})
	settings := write(t, "settings.yaml",
		fmt.Sprintf("sources: {audio: false, camera: false, files: [%s]}\nrpc: {ports: %d}\n", acme.file, client.Port()))
	home := filepath.Join(folder, "home")
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(folder, "agent")
	require.NoError(t, os.Symlink(self, program))
	env := []string{"XDG_RUNTIME_DIR=" + folder, "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), brandEnv + "=" + program}
	ask := func(args ...string) output { return sidetone(t, env, args...) }
	verb := func(args ...string) string {
		t.Helper()
		o := ask(append([]string{"service"}, args...)...)
		require.Equal(t, exitOK, o.code, o.stderr)
		return o.stdout
	}
	status := func() (st serviceStatus) {
		t.Helper()
		o := ask("service", "status", "--json")
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &st), o.stderr)
		return st
	}
	require.Empty(t, status().Address)
	verb("install", "--config", settings, "--catalogue", acme.catalogue)
	beta.start()
	beta.holds(client, "Mic of Beta")

	st := status()
	require.Equal(t, []any{"acme", folder + "/sidetone/acme/agent.sock", false}, []any{st.Vendor, st.Address, st.Running})
	for _, args := range [][]string{nil, {"--print"}} {
		isBadInput(t, ask(append([]string{"service", "install", "--catalogue", beta.catalogue}, args...)...),
			"the agent of vendor acme is installed, and that of beta would take its place: 'sidetone service uninstall' first")
	}
	o := ask("doctor", "--vendor=beta")
	require.Contains(t, o.stdout, "not installed to start at log-in")
	require.Contains(t, ask("doctor", "--vendor=acme").stdout, "is installed to start at log-in")

	require.Equal(t, "started\n", verb("start"))
	acme.holds(client, "Mic of Acme")
	require.True(t, status().Running)
	require.Equal(t, "stopped\n", verb("stop"))
	require.Equal(t, "it does not run\n", verb("stop"))
	beta.holds(client, "Mic of Beta")

	require.NoError(t, os.WriteFile(settings, []byte("no: settings\n"), 0o600))
	require.NoError(t, os.Remove(acme.catalogue))
	st = status()
	require.Equal(t, []any{"acme", false}, []any{st.Vendor, st.Running}, "also without its settings")
	require.Equal(t, "uninstalled\n", verb("uninstall"))
	beta.holds(client, "Mic of Beta")
	verb("install", "--catalogue", beta.catalogue)
	require.Equal(t, "beta", status().Vendor)
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

// TestExitCodeBesideAnotherAgent: a service manager need not try again every two seconds.
func TestExitCodeBesideAnotherAgent(t *testing.T) {
	t.Parallel()
	d := newControlled(t, nil)
	d.env = append(d.env, "SIDETONE_SOURCES_AUDIO=false")
	d.start()
	d.logged("full list sent")
	second := func(env ...string) int {
		return sidetone(t, append(env, d.setting()), "run", "--catalogue", d.catalogue).code
	}
	require.Equal(t, exitFailed, second())
	require.Equal(t, 69, second("NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "nobody")))
}
