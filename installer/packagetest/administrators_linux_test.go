package packagetest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/systemd"
)

// machineWith boots a machine with a user who has a client and a device, and settings with which an agent leaves its list in clients.
func machineWith(t *testing.T) (*systemd.Machine, *systemd.User, *client) {
	t.Helper()
	m := systemd.Boot(t)
	copyTo(t, m, filepath.Join(*built, "linux-amd64", "fakeserver"))
	m.Run("root", "rm", "-f", "/var/lib/man-db/auto-update")
	u := m.AddUser("one")
	devices := u.Write("endpoints.yaml",
		`endpoints: [{id: Mic, name: Mic, type: audioinput, bus: usb, vid: "1209", pid: "0700", serial: "1"}]`)
	u.Write(".config/acme-agent/config.yaml", "sources: {audio: false, camera: false, hid: false, files: ["+devices+"]}\nrpc: {on_exit: leave, tokens: 50}\n")
	return m, u, startClient(t, u)
}

// properties are those of the agent's unit in the service manager of a user.
func properties(m *systemd.Machine, name, uid, asked string) string {
	return m.Run(name, "env", "XDG_RUNTIME_DIR=/run/user/"+uid, "systemctl", "--user", "show", "acme-agent", "--property="+asked)
}

// TestWhoDecidesWhatStarts: no agent of root or of a log-in screen, none against the administrator's preset, and none that is left when the package goes.
func TestWhoDecidesWhatStarts(t *testing.T) {
	needs(t, "dpkg")
	m, u, c := machineWith(t)
	path := build(t, "installer/brand.yaml", "deb", "1.0.0", m.Share)
	install := func() { m.Run("root", "dpkg", "-i", "/share/"+filepath.Base(path)) }
	m.Run("root", "systemctl", "start", "user@0.service") // as a log-in of root over ssh does
	m.Run("root", "sh", "-c", "mkdir -p /etc/systemd/user-preset && echo 'disable acme-agent.service' >/etc/systemd/user-preset/10-site.preset")

	for range 2 { // the second is an upgrade
		install()
		require.Equal(t, "InactiveExitTimestampMonotonic=0\nJob=\n", properties(m, "one", u.UID, "InactiveExitTimestampMonotonic,Job"),
			"it was never started, and is not going to be")
		out, _ := m.Command("root", "systemctl", "--global", "is-enabled", "acme-agent.service").Output()
		require.Equal(t, "disabled\n", string(out))
	}
	m.Run("root", "dpkg", "-P", "acme-agent")
	m.Run("root", "rm", "/etc/systemd/user-preset/10-site.preset")

	install()
	c.has(t, acme, 0, 1)
	m.Run("root", "env", "XDG_RUNTIME_DIR=/run/user/0", "systemctl", "--user", "start", "acme-agent") // it waits; a condition is no failure
	require.Equal(t, "ActiveState=inactive\nConditionResult=no\n", properties(m, "root", "0", "ActiveState,ConditionResult"))
	require.Empty(t, m.Run("root", "sh", "-c", "ls -l /proc/[0-9]*/exe 2>/dev/null | grep -- ' root .*-agent' || true"))
	out, err := m.Command("root", "env", "XDG_RUNTIME_DIR=/run/user/0", "HOME=/root", "acme-agent", "service", "start").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "it does not run")
	out, err = m.Command("root", "env", "XDG_RUNTIME_DIR=/run/user/0", "HOME=/root", "acme-agent", "service", "install").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "root is none")

	for home, met := range map[string]string{
		"/run/gdm/home/gdm-greeter-2": "no", "/run/gdm3/home/gnome-initial-setup": "no", "/run/gdm/home/three/two": "yes",
	} {
		m.Run("root", "mkdir", "-p", home)
		who := m.AddUser(filepath.Base(home)) // with the number of a person
		who.Run("systemctl", "--user", "start", "acme-agent")
		require.Equal(t, "ConditionResult="+met+"\n", properties(m, who.Name, who.UID, "ConditionResult"), home)
		m.Run("root", "loginctl", "terminate-user", who.Name)
	}

	// The user has made a mistake, which an agent that runs does not mind.
	u.Write(".config/acme-agent/config.yaml", "rpc: {on_exti: leave}\n")
	m.Run("root", "dpkg", "-r", "acme-agent")
	c.has(t, acme, 1, 0)

	install()
	m.Run("root", "systemctl", "--global", "disable", "acme-agent.service")
	m.Run("root", "/var/lib/dpkg/info/acme-agent.prerm", "remove")
	m.Run("root", "/var/lib/dpkg/info/acme-agent.postinst", "abort-remove")
	out, _ = m.Command("root", "systemctl", "--global", "is-enabled", "acme-agent.service").Output()
	require.Equal(t, "disabled\n", string(out), "a removal that is broken off enables nothing that the administrator has disabled")
}

// TestPortableUpdate: what the README of the archive says, word by word, while the agent runs.
func TestPortableUpdate(t *testing.T) {
	needs(t, "tar")
	m, u, c := machineWith(t)
	one := build(t, "installer/brand.yaml", "tar.gz", "1.0.0", m.Share)
	two := build(t, "installer/brand.yaml", "tar.gz", "1.0.1", m.Share)
	u.Run("sh", "-ec", "mkdir ~/here && tar -xzf /share/"+filepath.Base(one)+" --strip-components=1 -C ~/here")
	readme := regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindAllString(u.Run("cat", u.Home()+"/here/README"), -1)
	require.Len(t, readme, 3, "to install, the udev rule, to update")
	follow := func(commands string) { u.Run("sh", "-ec", "cd ~/here\n"+commands) }

	follow(readme[0])
	c.has(t, acme, 0, 1)
	running := func() string {
		pid := strings.TrimSpace(u.Run("systemctl", "--user", "show", "acme-agent", "--property=MainPID", "--value"))
		return u.Run("stat", "--dereference", "--format=%i", "/proc/"+pid+"/exe")
	}
	first := running()
	follow(strings.ReplaceAll(readme[2], "NEW.tar.gz", "/share/"+filepath.Base(two)))
	require.NotEqual(t, first, running(), "it runs the file that has come")
	require.Equal(t, u.Run("stat", "--format=%i", u.Home()+"/here/acme-agent"), running())
	require.NotContains(t, c.of(acme), 0)
}
