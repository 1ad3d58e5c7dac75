package service_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/service"
	"sidetone/internal/supervise"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/systemd"
)

// folder is where the program is, with all that systemd would read into a path.
const folder = "/opt/Acme $HOME %h"

// person is a user who has an agent and a client.
type person struct {
	*systemd.User
	t                           *testing.T
	catalogue, endpoints, mic   string
	client, flatpak, snap, temp *client
}

// client is a fake one, and the lists that it has been sent.
type client struct {
	mu    sync.Mutex
	lists []time.Time
	last  int // devices in the last list
	empty int // lists without any
}

func (c *client) count() (lists, devices int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lists), c.last
}

// empties is how many lists without a device there were.
func (c *client) empties() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.empty
}

// comes waits for a list with so many devices, after the one with that number, and returns its number.
func (c *client) comes(t *testing.T, after, devices int) int {
	t.Helper()
	testlab.Eventually(t, fmt.Sprintf("list %d or later with %d devices", after+1, devices), func() bool {
		lists, now := c.count()
		return lists > after && now == devices
	})
	lists, _ := c.count()
	return lists
}

// client starts a fake client whose sockets are in that folder.
func (p *person) startClient(folder string, port int) *client {
	p.t.Helper()
	p.Run("mkdir", "-p", folder)
	c := &client{last: -1}
	cmd := p.Command("XDG_RUNTIME_DIR="+folder,
		"/share/fakeserver", "--json", "--profile", "desktop", "--bucket", "-1", "--port", fmt.Sprint(port))
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var line struct {
				Payload struct {
					Args struct{ Devices []json.RawMessage }
				}
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil {
				c.mu.Lock()
				c.lists, c.last = append(c.lists, time.Now()), len(line.Payload.Args.Devices)
				if c.last == 0 {
					c.empty++
				}
				c.mu.Unlock()
			}
		}
	}()
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = out.Close()
		<-done
		_ = cmd.Wait()
	})
	return c
}

// service runs a verb of the program.
func (p *person) service(args ...string) string {
	p.t.Helper()
	return p.Run(append([]string{folder + "/acme-agent", "service"}, args...)...)
}

// show is a property of the unit.
func (p *person) show(property string) string {
	p.t.Helper()
	return strings.TrimSpace(p.Run("systemctl", "--user", "show", "acme-agent", "--property", property, "--value"))
}

func (p *person) state() (st service.State) {
	p.t.Helper()
	out, _ := p.Command(folder+"/acme-agent", "service", "status", "--json").Output()
	require.NoError(p.t, json.Unmarshal(out, &st), "%s", out)
	return st
}

// TestUnderSystemd has two users live with the agent under a real systemd, from the first installation to the last trace.
func TestUnderSystemd(t *testing.T) {
	m := systemd.Boot(t)
	var builds sync.WaitGroup
	for name, of := range map[string]string{
		"acme-agent": "../../cmd/agent", "acme-agent-tray": "../../cmd/tray", "fakeserver": "../../fakeserver/cmd/fakeserver",
	} {
		builds.Go(func() { assert.NoError(t, testlab.Build(filepath.Join(m.Share, name), of)) })
	}
	builds.Wait()
	require.False(t, t.Failed())
	m.Run("root", "mkdir", "-p", folder)
	m.Run("root", "cp", "/share/acme-agent", "/share/acme-agent-tray", folder)
	m.Run("root", "mknod", "-m", "666", "/dev/hidraw9", "c", "1", "3")

	one, two := newPerson(t, m, "one", 6463), newPerson(t, m, "two", 6464)
	one.flatpak = one.startClient(one.Runtime()+"/app/com.discordapp.Discord", 6465)
	one.snap = one.startClient(one.Runtime()+"/snap.discord", 6466)
	one.temp = one.startClient("/tmp/", 6467)
	for _, step := range []struct {
		name string
		run  func(t *testing.T, one, two *person)
	}{
		{"install", install},
		{"start", start},
		{"sight", sight},
		{"hardening", hardening},
		{"kill", kill},
		{"hang", hang},
		{"last failed start", lastFailedStart},
		{"three crashes", threeCrashes},
		{"upgrade", upgrade},
		{"second user", secondUser},
		{"stop", stop},
		{"wrong settings", wrongSettings},
		{"another agent", anotherAgent},
		{"uninstall", uninstall},
		{"all users", allUsers},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			a, b := *one, *two
			a.t, b.t = t, t
			step.run(t, &a, &b)
		}) {
			t.Log(one.Run("journalctl", "--user", "--no-pager", "--lines", "50"))
			return
		}
	}
}

func newPerson(t *testing.T, m *systemd.Machine, name string, port int) *person {
	t.Helper()
	p := &person{User: m.AddUser(name), t: t, mic: "Mic of " + name}
	example, err := os.ReadFile("../../examples/acme.yaml")
	require.NoError(t, err)
	p.catalogue = p.Write("my catalogue.yaml", strings.ReplaceAll(string(example), "\n    traces:", "\n    #"))
	p.endpoints = p.Write("endpoints.yaml", fmt.Sprintf(
		"endpoints: [{id: %q, name: %q, type: audioinput, bus: usb, vid: \"1209\", pid: \"0700\", serial: \"1\"}]\n", p.mic, p.mic))
	p.client = p.startClient(p.Runtime(), port)
	return p
}

func (p *person) install(args ...string) string {
	p.t.Helper()
	folders := strings.Join([]string{p.Runtime(), p.Runtime() + "/app/com.discordapp.Discord", p.Runtime() + "/snap.discord", "/tmp"}, ",")
	return p.service(append([]string{
		"install", "--catalogue", p.catalogue, "--sources-files", p.endpoints, "--sources-audio=false", "--rpc-tokens=50", "--rpc-ipc-folders", folders,
	}, args...)...)
}

func install(t *testing.T, one, two *person) {
	unit := one.Home() + "/.config/systemd/user/acme-agent.service"
	require.Equal(t, service.State{Kind: service.Systemd, Path: unit}, one.state())
	plan := one.install("--print")
	require.Contains(t, plan, "write "+unit+":\n\n    # Written by 'acme-agent service install'")
	require.Contains(t, plan, "\nsystemctl --user enable acme-agent.service\nsystemctl --user daemon-reload\nwrite "+
		one.Home()+"/.config/autostart/acme-agent-tray.desktop:\n")
	require.False(t, one.state().Installed, "--print does nothing")

	for _, p := range []*person{one, two} {
		require.Contains(t, p.install(), "installed: it starts at the next log-in")
		require.Equal(t, "already installed\n", p.install())
	}
	require.Equal(t, service.State{Kind: service.Systemd, Path: unit, Installed: true, Enabled: true, Tray: true}, one.state())
	require.Contains(t, one.install("--log-level=debug"), "installed", "with other settings")
	require.Contains(t, one.Run("cat", unit), `"--log-level=debug"`)
	one.install()
	require.Empty(t, one.Run("systemd-analyze", "--user", "verify", unit))
	refusesOtherVendor(t, one.Command(folder+"/acme-agent", "service", "install", "--catalogue", one.otherVendor()))
}

// otherVendor is the catalogue of one.
func (p *person) otherVendor() string {
	return p.Write("beta.yaml", strings.Replace(p.Run("cat", p.catalogue), "\n  id: acme ", "\n  id: beta ", 1))
}

func refusesOtherVendor(t *testing.T, install *exec.Cmd) {
	t.Helper()
	says, err := install.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(says), "the agent of vendor acme is installed, and that of beta would take its place")
}

func start(t *testing.T, one, _ *person) {
	require.Equal(t, "started\n", one.service("start"))
	require.Equal(t, "it runs already\n", one.service("start"))
	st := one.state()
	require.True(t, st.Running)
	require.WithinDuration(t, time.Now(), st.Since, time.Minute)
	require.Equal(t, "active", one.show("ActiveState"), "it has said that it is ready")
	one.client.comes(t, 0, 1)
	testlab.Eventually(t, "the log is in the journal", func() bool { return strings.Contains(one.service("logs"), "full list sent") })
	journal := func(priority string) string {
		return one.Run("journalctl", "--user-unit", "acme-agent", "--no-pager", "--priority", priority)
	}
	require.Contains(t, journal("info..info"), "full list sent")
	require.NotContains(t, journal("warning"), "full list sent")
	require.Equal(t, "4min", one.show("WatchdogUSec"), "of which half is between two signs of life")
}

// sight is what an agent in a user namespace, or with a /tmp of its own, would not see: whose sockets and ports there are.
func sight(t *testing.T, one, _ *person) {
	for _, c := range []*client{one.client, one.flatpak, one.snap, one.temp} {
		c.comes(t, 0, 1)
	}
	var st control.Status
	require.NoError(t, json.Unmarshal([]byte(one.Run(folder+"/acme-agent", "status", "--json")), &st))
	own, foreign := 0, 0
	for _, s := range st.Clients.Sessions {
		switch s.State {
		case "foreign":
			require.Equal(t, 6464, s.Port, "it is the other user's")
			foreign++
		default:
			require.Equal(t, "fakeserver", s.Name, "whose socket %s is", s.Socket)
			require.NotZero(t, s.PID)
			own++
		}
	}
	require.Equal(t, [2]int{4, 1}, [2]int{own, foreign}, "%+v", st.Clients.Sessions)
	pid := one.show("MainPID")
	for _, ns := range []string{"user", "mnt", "net", "pid", "ipc", "uts"} {
		require.Equal(t, one.Run("readlink", "/proc/self/ns/"+ns), one.Run("readlink", "/proc/"+pid+"/ns/"+ns), ns)
	}
}

var exposure = regexp.MustCompile(`Overall exposure level for acme-agent.service: ([0-9.]+)`)

// hardening: the figure is that of docs/service.md, and a program under the same lines opens device nodes and asks for the owners of ports.
func hardening(t *testing.T, one, _ *person) {
	found := exposure.FindStringSubmatch(one.Run("systemd-analyze", "--user", "security", "--no-pager", "acme-agent"))
	require.NotNil(t, found)
	page, err := os.ReadFile("../../docs/service.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "says **"+found[1]+"**")

	args := []string{"systemd-run", "--user", "--quiet", "--wait", "--pipe"}
	_, lines, _ := strings.Cut(service.Agent{}.Unit(), "\nKillMode=mixed\n")
	lines, _, _ = strings.Cut(lines, "\n\n[Install]")
	for line := range strings.Lines(lines) {
		args = append(args, "--property", strings.TrimSpace(line))
	}
	one.Run(append(args, "sh", "-c", `exec 3<>/dev/hidraw9 && : >/tmp/mine && cat /proc/net/tcp && [ "$(stat -c %u /etc/passwd)" = 0 ]`)...)
}

// change changes lines of the unit, until undo is called.
func (p *person) change(lines ...string) (undo func()) {
	p.t.Helper()
	dropIn := p.Write(".config/systemd/user/acme-agent.service.d/quick.conf", "[Service]\n"+strings.Join(lines, "\n")+"\n")
	p.Run("systemctl", "--user", "daemon-reload")
	return func() {
		p.t.Helper()
		p.Run("rm", "-r", filepath.Dir(dropIn))
		p.Run("systemctl", "--user", "daemon-reload")
	}
}

// soon has the unit start again at once. How long that takes as it ships is for kill to see.
const soon = "RestartSec=100ms"

// lastFailedStart: nobody watches what the client has after that, so it is emptied.
func lastFailedStart(t *testing.T, one, _ *person) {
	defer one.change("[Unit]", "StartLimitBurst=1", "StartLimitIntervalSec=1h", "[Service]", soon)()
	lists, _ := one.client.count()
	die := func() { one.Run("systemctl", "--user", "kill", "--signal=KILL", "--kill-whom=main", "acme-agent") }
	die()
	lists = one.client.comes(t, lists, 1)
	die()
	lists = one.client.comes(t, lists, 0)
	require.False(t, one.state().Running)
	one.Run("systemctl", "--user", "reset-failed", "acme-agent")
	require.Equal(t, "started\n", one.service("start"))
	one.client.comes(t, lists, 1)
}

// kill: an agent that dies is back after two seconds, and so is the client's list.
func kill(t *testing.T, one, _ *person) {
	lists, _ := one.client.count()
	before := time.Now()
	one.Run("systemctl", "--user", "kill", "--signal=KILL", "--kill-whom=main", "acme-agent")
	one.client.comes(t, lists, 1)
	t.Logf("killed, started again and reported in %s", time.Since(before).Round(10*time.Millisecond))
	require.Equal(t, 1, one.state().Restarts)
}

// hang: one that is stopped answers no more, and is replaced. What is changed only makes the wait shorter.
func hang(t *testing.T, one, _ *person) {
	defer one.change("WatchdogSec=2", "TimeoutStopSec=1", soon)()
	require.Equal(t, "started anew\n", one.service("restart"))
	lists := one.client.comes(t, 0, 1)
	pid := one.show("MainPID")
	testlab.Eventually(t, "signs of life", func() bool {
		return one.show("WatchdogTimestampMonotonic") > one.show("ActiveEnterTimestampMonotonic")
	})
	one.Run("kill", "-STOP", pid)
	one.client.comes(t, lists, 1)
	require.NotEqual(t, pid, one.show("MainPID"))
	require.Contains(t, one.Run("journalctl", "--user", "--no-pager", "--unit", "acme-agent"), "Watchdog timeout")
}

// threeCrashes within a minute lead to safe mode, which the agent's status and the service's tell.
func threeCrashes(t *testing.T, one, _ *person) {
	defer one.change(soon)()
	for range 3 {
		lists, _ := one.client.count()
		one.Run("systemctl", "--user", "kill", "--signal=ABRT", "--kill-whom=main", "acme-agent")
		one.client.comes(t, lists, 1)
	}
	require.Contains(t, one.Run(folder+"/acme-agent", "status"), "runs in safe mode")
	status := one.service("status")
	require.Regexp(t, `runs +as process .*, in safe mode`, status)
	require.Regexp(t, `last crash +\d+s ago: `+one.Home()+`/\.local/state/sidetone/acme/crash-\d+\.txt`, status)
	one.Run("rm", "-r", one.Home()+"/.local/state/sidetone")
	require.Equal(t, "started anew\n", one.service("restart"))
	one.client.comes(t, 0, 1)
	require.NotContains(t, one.service("status"), "safe mode")
}

// upgrade replaces the program while it runs, as a package does. By 'upgrade' it is the same unit, which is looked after as before, and no
// client's list is empty in between; a restart is an end and a start.
func upgrade(t *testing.T, one, _ *person) {
	defer one.change(soon)()
	lists, _ := one.client.count()
	program := func() string {
		return one.Run("stat", "--dereference", "--format=%i", "/proc/"+one.show("MainPID")+"/exe")
	}
	before := program()
	one.Machine.Run("root", "cp", "/share/acme-agent", folder+"/new")
	one.Machine.Run("root", "mv", folder+"/new", folder+"/acme-agent")
	require.Equal(t, before, program(), "the old one goes on")
	pid, empty := one.show("MainPID"), one.client.empties()
	one.Run(folder+"/acme-agent", "upgrade")
	lists = one.client.comes(t, lists+1, 1) // after the farewell
	require.NotEqual(t, before, program())
	require.Equal(t, pid, one.show("MainPID"))
	require.Equal(t, empty, one.client.empties())
	st := one.state()
	require.True(t, st.Running)
	require.Zero(t, st.Restarts)
	one.Run("systemctl", "--user", "kill", "--signal=KILL", "--kill-whom=main", "acme-agent")
	lists = one.client.comes(t, lists, 1)
	require.Equal(t, 1, one.state().Restarts)

	require.Equal(t, "started anew\n", one.service("restart"))
	one.client.comes(t, lists, 1)
}

// secondUser has an agent of the same name at the same time. Neither sees the other's client.
func secondUser(t *testing.T, one, two *person) {
	require.Equal(t, "started\n", two.service("start"))
	two.client.comes(t, 0, 1)
	for _, p := range []*person{one, two} {
		require.True(t, p.state().Running)
		status := p.Run(folder+"/acme-agent", "status")
		require.Contains(t, status, p.Runtime()+"/discord-ipc-0")
	}
	require.NotContains(t, two.Run(folder+"/acme-agent", "status"), one.Runtime())
	require.Equal(t, "stopped\n", two.service("stop"))
	require.True(t, one.state().Running)
}

// stop: the farewell, and no restart.
func stop(t *testing.T, one, _ *person) {
	lists, devices := one.client.count()
	require.Equal(t, 1, devices)
	require.Equal(t, "stopped\n", one.service("stop"))
	one.client.comes(t, lists, 0)
	require.Equal(t, "it does not run\n", one.service("stop"))
	st := one.state()
	require.False(t, st.Running)
	require.Empty(t, st.Result)
	require.True(t, st.Enabled, "it starts at the next log-in")
	says, err := one.Command(folder+"/acme-agent", "doctor", "--catalogue", one.catalogue).Output()
	require.Error(t, err, "no agent runs")
	require.Contains(t, string(says), "is installed to start at log-in ("+st.Path+"), but does not run that way")
}

// wrongSettings are said once, not every two seconds.
func wrongSettings(t *testing.T, one, _ *person) {
	one.Run("mv", one.catalogue, one.catalogue+".away")
	out, err := one.Command(folder+"/acme-agent", "service", "start").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the agent finds its settings wrong")
	st := one.state()
	require.True(t, st.EndedWith(supervise.ExitConfig), "%+v", st)
	require.Zero(t, st.Restarts)
	require.Equal(t, "failed", one.show("ActiveState"), "no start is due")
	one.Run("mv", one.catalogue+".away", one.catalogue)
	require.Equal(t, "started\n", one.service("start"))
}

// anotherAgent of the user, from a terminal, keeps the unit's from starting. Nobody tries that again every two seconds.
func anotherAgent(t *testing.T, one, _ *person) {
	require.Equal(t, "stopped\n", one.service("stop"))
	other := one.Command(folder+"/acme-agent", "run", "--catalogue", one.catalogue, "--sources-audio=false")
	require.NoError(t, other.Start())
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	testlab.Eventually(t, "the other agent answers", func() bool { return one.Command(folder+"/acme-agent", "status").Run() == nil })
	out, err := one.Command(folder+"/acme-agent", "service", "start").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "an agent that was started otherwise runs (process ")
	require.Error(t, one.Command("systemctl", "--user", "start", "acme-agent").Run())
	st := one.state()
	require.True(t, st.EndedWith(supervise.ExitRunning), "%+v", st)
	require.Zero(t, st.Restarts)
	require.Equal(t, "failed", one.show("ActiveState"), "no start is due")
	says, _ := one.Command(folder+"/acme-agent", "service", "status").Output()
	require.Contains(t, string(says), "another agent was running already")
	one.Run(folder+"/acme-agent", "stop")
	require.NoError(t, <-ended)
	require.Equal(t, "started\n", one.service("start"))
}

func uninstall(t *testing.T, one, two *person) {
	require.Contains(t, one.service("uninstall", "--print"), "systemctl --user stop acme-agent.service")
	lists := one.client.comes(t, 0, 1)
	for _, p := range []*person{one, two} {
		require.Equal(t, "uninstalled\n", p.service("uninstall"))
		require.Equal(t, "not installed, and it does not run\n", p.service("uninstall"))
		require.Empty(t, p.Run("find", p.Home()+"/.config/systemd", p.Home()+"/.config/autostart", "-not", "-type", "d"))
		require.NotContains(t, p.Run("systemctl", "--user", "list-units", "--all", "--no-pager"), "acme-agent")
	}
	one.client.comes(t, lists, 0)
}

// allUsers have the agent from their next log-in on, and it cannot be taken away by one for all: by the verb, and by what a package ships.
func allUsers(t *testing.T, one, _ *person) {
	root := func(args ...string) string { return one.Machine.Run("root", args...) }
	root("cp", one.catalogue, "/etc/acme.yaml")
	root("chmod", "644", "/etc/acme.yaml")
	install := []string{folder + "/acme-agent", "service", "install", "--global", "--catalogue=/etc/acme.yaml", "--sources-audio=false"}
	require.True(t, strings.HasSuffix(root(append(install, "--print")...), "\nsystemctl --global enable acme-agent.service\n"))
	require.Equal(t, "installed for all users: it starts at their next log-in\n", root(install...))
	require.Equal(t, "already installed\n", root(install...))
	root("cp", one.otherVendor(), "/etc/beta.yaml")
	refusesOtherVendor(t, one.Machine.Command("root", folder+"/acme-agent", "service", "install", "--global", "--catalogue=/etc/beta.yaml"))
	unit := root("cat", "/etc/systemd/user/acme-agent.service")
	loggedIn := func(name, unit string) *person {
		p := &person{User: one.AddUser(name), t: t}
		st := p.state()
		require.Equal(t, []any{unit, true, true, true}, []any{st.Path, st.Enabled, st.Running, st.Tray}, "%+v", st)
		says, err := p.Command(folder+"/acme-agent", "service", "uninstall").CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(says), "it is installed for all users, by "+unit)
		return p
	}
	three := loggedIn("three", "/etc/xdg/systemd/user/acme-agent.service") // which is a link to /etc/systemd/user
	three.Run("systemctl", "--user", "mask", "--now", "acme-agent.service")
	require.False(t, three.state().Running)

	uninstall := []string{folder + "/acme-agent", "service", "uninstall", "--global"}
	require.Equal(t, "uninstalled\n", root(uninstall...))
	require.Equal(t, "not installed for all users\n", root(uninstall...))
	require.Empty(t, root("find", "/etc/systemd", "/etc/xdg", "-name", "*acme*"))

	files := map[string]string{
		"/usr/lib/systemd/user/acme-agent.service":          unit,
		"/usr/lib/systemd/user-preset/90-acme-agent.preset": "enable acme-agent.service\n",
		"/etc/xdg/autostart/acme-agent-tray.desktop":        "[Desktop Entry]\nType=Application\nName=Acme\nExec=acme-agent tray --vendor=acme\n",
	}
	for path, text := range files {
		root("sh", "-c", `mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1"`, "sh", path, text)
	}
	root("systemctl", "--global", "preset", "acme-agent.service")
	loggedIn("four", "/usr/lib/systemd/user/acme-agent.service")
}
