//go:build vmtest

package guest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
	"sidetone/tools/fakeusb"
)

// The agent as a service: what only a reboot, a log-out and a log-in show. The rest of its life is TestUnderSystemd's.

const (
	// installed says, over the reboot, that the service has been installed.
	installed = "/home/tester/service-installed"
	// again, in the shared folder, has the machine boot once more (vm.sh).
	again = "again"
)

// rebooted reports whether the machine has been booted once more, and the service's agent runs.
var rebooted = sync.OnceValue(func() bool {
	_, err := os.Stat(installed)
	return err == nil
})

// desktopTarget is a desktop's session, as those are that have systemd start what is to start at log-in.
const desktopTarget = "[Unit]\nBindsTo=graphical-session.target\nWants=xdg-desktop-autostart.target\n"

func TestServiceInstall(t *testing.T) {
	onceIsEnough(t)
	says := run(t, "./sidetone", "service", "install", "--catalogue", exampleCatalogue, "--rpc-origin", "https://acme.example")
	require.Contains(t, says, "installed: it starts at the next log-in")
	for path, text := range map[string]string{
		"/etc/systemd/user/desktop.target":      desktopTarget,
		"/etc/systemd/logind.conf.d/quick.conf": "[Login]\nUserStopDelaySec=1\n", // after the last log-out, instead of 10
		installed:                               "",
	} {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		run(t, "sudo", "install", "-D", "--mode=644", file, path)
	}
	run(t, "sudo", "useradd", "--create-home", "two")
	run(t, "sudo", "touch", again)
}

// TestServiceAfterReboot: agent and tray are there without a word.
func TestServiceAfterReboot(t *testing.T) {
	if !rebooted() {
		t.Skip("this runs when the machine has been rebooted")
	}
	unit := func(property string) string { return unitOf(t, property) }
	testlab.Eventually(t, "the unit is active", func() bool { return unit("ActiveState") == "active" })
	require.Equal(t, "0", unit("NRestarts"))

	t.Run("the unit hears a device", func(t *testing.T) {
		spec := headset()
		spec.PhoneMute, spec.GainControl = fakeusb.PhoneMuteLevel, false
		d := plug(t, 0, spec)
		agentReads(t, d.telephony())
		for _, press := range []bool{true, false} {
			d.press(press)
			expect(t, d.saying(&press)...)
		}
	})
	t.Run("the tray", trayComes)
	t.Run("a second user logs out and in", secondUser)
	t.Run("uninstall", func(t *testing.T) {
		require.Equal(t, "uninstalled\n", run(t, "./sidetone", "service", "uninstall"))
		require.Equal(t, "inactive", unit("ActiveState"))
		require.Empty(t, run(t, "find", "/home/tester/.config", "-name", "*sidetone*"))
	})
}

func unitOf(t *testing.T, property string) string {
	t.Helper()
	return strings.TrimSpace(run(t, "systemctl", "--user", "show", "sidetone", "--property", property, "--value"))
}

// panel is a desktop's tray: the names on the bus of the icons that register.
type panel chan dbus.Sender

// RegisterStatusNotifierItem is called by an icon.
func (p panel) RegisterStatusNotifierItem(sender dbus.Sender, _ string) *dbus.Error {
	p <- sender
	return nil
}

// trayComes with the desktop, which starts its entry as a unit of its own.
func trayComes(t *testing.T) {
	bus, err := dbus.ConnectSessionBus()
	require.NoError(t, err)
	defer bus.Close()
	icons := make(panel, 1)
	require.NoError(t, bus.Export(icons, "/StatusNotifierWatcher", desktop.TrayHost))
	_, err = bus.RequestName(desktop.TrayHost, dbus.NameFlagDoNotQueue)
	require.NoError(t, err)
	run(t, "systemctl", "--user", "start", "desktop.target")
	var pid uint32
	require.NoError(t, bus.BusObject().Call("org.freedesktop.DBus.GetConnectionUnixProcessID", 0, string(<-icons)).Store(&pid))
	group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	require.NoError(t, err)
	require.Contains(t, string(group), `/app-sidetone\x2dtray@autostart.service`)
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	require.NoError(t, err)
	require.Equal(t, "/share/sidetone-tray", program)
}

// secondUser has an agent of its own beside the first one's, which ends at the log-out and is back at the next log-in.
func secondUser(t *testing.T) {
	first := unitOf(t, "MainPID")
	uid := strings.TrimSpace(run(t, "id", "-u", "two"))
	runtime := "/run/user/" + uid
	as := func(args ...string) string {
		return run(t, "sudo", append([]string{"runuser", "-u", "two", "--", "env", "HOME=/home/two", "XDG_RUNTIME_DIR=" + runtime}, args...)...)
	}
	manager := func(state string) {
		t.Helper()
		testlab.Eventually(t, "the second user's service manager is "+state, func() bool {
			return strings.TrimSpace(run(t, "systemctl", "show", "user@"+uid, "--property=ActiveState", "--value")) == state
		})
	}
	login := func() {
		t.Helper()
		run(t, "sudo", "systemd-run", "--quiet", "--unit=login-two", "--property=User=two", "--property=PAMName=login", "sleep", "infinity")
		manager("active")
	}
	const lists = "/tmp/client-two.json"
	startClient := func() {
		run(t, "sudo", "systemd-run", "--quiet", "--unit=client-two", "--uid=two", "--setenv=XDG_RUNTIME_DIR="+runtime, "--property=StandardOutput=truncate:"+lists,
			"/share/fakeserver", "--json", "--profile", "desktop", "--bucket", "-1", "--port", "6470")
	}
	has := func(devices int) {
		t.Helper()
		testlab.Eventually(t, fmt.Sprintf("the second user's client has %d devices", devices), func() bool {
			text, err := os.ReadFile(lists)
			require.NoError(t, err)
			all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
			var last struct {
				Payload struct {
					Args struct{ Devices []json.RawMessage }
				}
			}
			return json.Unmarshal(all[len(all)-1], &last) == nil && len(last.Payload.Args.Devices) == devices
		})
	}

	login()
	startClient()
	endpoints := "/tmp/endpoints-of-two.yaml"
	require.NoError(t, os.WriteFile(endpoints, []byte(
		`endpoints: [{id: mic, name: Mic, type: audioinput, bus: usb, vid: "1209", pid: "0700", serial: "1"}]`+"\n"), 0o600))
	require.NoError(t, os.Chmod(endpoints, 0o644))
	as("/share/sidetone", "service", "install", "--catalogue", "/share/"+exampleCatalogue, "--sources-audio=false", "--sources-files", endpoints)
	require.Equal(t, "started\n", as("/share/sidetone", "service", "start"))
	has(1)
	require.NotEqual(t, first, strings.TrimSpace(as("systemctl", "--user", "show", "sidetone", "--property=MainPID", "--value")))
	require.Equal(t, first, unitOf(t, "MainPID"))

	run(t, "sudo", "systemctl", "stop", "login-two")
	has(0)
	manager("inactive")
	run(t, "sudo", "systemctl", "stop", "client-two")

	login()
	startClient()
	has(1)
	require.Equal(t, "uninstalled\n", as("/share/sidetone", "service", "uninstall"))
	has(0)
	require.Equal(t, first, unitOf(t, "MainPID"), "the first user's goes on")
	run(t, "sudo", "systemctl", "stop", "client-two", "login-two")
}
