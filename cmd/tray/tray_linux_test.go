package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
)

// maxResident is what a tray may have in memory whose menu was shown, in KiB.
const maxResident = 15 << 10

// desk is a session with a bus, a panel, an agent and its tray, as a vendor ships them.
type desk struct {
	t       *testing.T
	home    string
	agent   string // the program
	session *testlab.Bus
	bus     *dbus.Conn
	icons   chan string // names on the bus of who registers
	env     []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	bus := testlab.StartBus(t)
	d := &desk{t: t, home: t.TempDir(), session: bus, icons: make(chan string, 10)}
	d.agent = filepath.Join(d.home, "acme-agent")
	tray, err := built()
	require.NoError(t, err)
	require.NoError(t, os.Link(tray, d.agent+"-tray"))
	opens := `echo "$1" > "$HOME/opened.new" && mv "$HOME/opened.new" "$HOME/opened"`
	require.NoError(t, os.WriteFile(filepath.Join(d.home, "xdg-open"), []byte("#!/bin/sh\n"+opens+"\n"), 0o700))
	d.env = []string{
		"HOME=" + d.home, "XDG_RUNTIME_DIR=" + bus.Folder(), "PATH=" + d.home + ":/usr/bin:/bin", "LC_ALL=C.UTF-8", "GOTRACEBACK=all",
	}
	d.bus, err = dbus.Connect(bus.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.bus.Close() })
	require.NoError(t, d.bus.Export(d, "/StatusNotifierWatcher", desktop.TrayHost))
	_, err = d.bus.RequestName(desktop.TrayHost, dbus.NameFlagDoNotQueue)
	require.NoError(t, err)
	return d
}

// folder is that of the program that all tests share.
var folder string

// built is that program, as the Makefile makes it.
var built = sync.OnceValues(func() (program string, err error) {
	if folder, err = os.MkdirTemp("", "tray"); err != nil {
		return "", err
	}
	program = filepath.Join(folder, "tray")
	return program, testlab.Build(program, ".", "CGO_ENABLED=0")
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// RegisterStatusNotifierItem is called by an icon.
func (d *desk) RegisterStatusNotifierItem(sender dbus.Sender, _ string) *dbus.Error {
	d.icons <- string(sender)
	return nil
}

// start starts a program that ends with the test.
func (d *desk) start(program string, args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := exec.Command(program, args...) //nolint:noctx // it ends with the test
	cmd.Env, cmd.Stderr = d.env, d.t.Output()
	require.NoError(d.t, cmd.Start())
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// row is one of a menu.
type row struct {
	ID       int32
	Props    map[string]dbus.Variant
	Children []dbus.Variant
}

// rows are those of an icon's menu by their text, as a panel gets them.
func (d *desk) rows(icon string) map[string]int32 {
	d.t.Helper()
	var revision uint32
	var root row
	call := d.bus.Object(icon, "/StatusNotifierItem/menu").Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{})
	require.NoError(d.t, call.Store(&revision, &root))
	all := make(map[string]int32)
	for _, child := range root.Children {
		var r row
		require.NoError(d.t, dbus.Store([]any{child.Value()}, &r))
		if label, is := r.Props["label"].Value().(string); is && r.Props["visible"].Value() != false {
			all[label] = r.ID
		}
	}
	return all
}

func (d *desk) click(icon, text string) {
	d.t.Helper()
	call := d.bus.Object(icon, "/StatusNotifierItem/menu").Call(
		"com.canonical.dbusmenu.Event", 0, d.rows(icon)[text], "clicked", dbus.MakeVariant(0), uint32(0))
	require.NoError(d.t, call.Err)
}

// opened waits until a file is shown, and returns what is in it.
func (d *desk) opened(file string) string {
	d.t.Helper()
	testlab.Eventually(d.t, file+" is shown", func() bool {
		name, _ := os.ReadFile(filepath.Join(d.home, "opened"))
		return strings.TrimSpace(string(name)) == filepath.Join(d.home, file)
	})
	text, err := os.ReadFile(filepath.Join(d.home, file))
	require.NoError(d.t, err)
	return string(text)
}

// memory is what the kernel says of a process's, in KiB.
func (d *desk) memory(process *exec.Cmd, which string) int {
	d.t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(process.Process.Pid) + "/status")
	require.NoError(d.t, err)
	kib, err := strconv.Atoi(string(regexp.MustCompile(which + `:\s+(\d+) kB`).FindSubmatch(status)[1]))
	require.NoError(d.t, err)
	return kib
}

// TestTrayBesideItsAgent has both programs, as they ship, live on one desk: the verb becomes the tray's program, which shows the agent, asks
// the agent's program for what it does not know itself, and stays small. Started by itself it has the verb start it.
func TestTrayBesideItsAgent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.NoError(t, testlab.Build(d.agent, "../agent"))
	example, err := os.ReadFile("../../examples/acme.yaml")
	require.NoError(t, err)
	catalogue, endpoints := filepath.Join(d.home, "acme.yaml"), filepath.Join(d.home, "endpoints.yaml")
	require.NoError(t, os.WriteFile(catalogue, bytes.ReplaceAll(example, []byte("\n    traces:"), []byte("\n    #")), 0o600))
	require.NoError(t, os.WriteFile(endpoints, []byte(
		`endpoints: [{id: mic, name: Mic, type: audioinput, bus: usb, vid: "1209", pid: "0700", serial: "1"}]`+"\n"), 0o600))
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, IPCDir: d.home})
	require.NoError(t, err)
	defer client.Close()
	d.start(d.agent, "run", "--catalogue", catalogue, "--sources-files", endpoints, "--sources-audio=false", "--sources-camera=false",
		"--sources-hid=false", "--rpc-ports", strconv.Itoa(client.Port()), "--rpc-ipc-folders", d.home, "--control-socket", filepath.Join(d.home, "agent.sock"))
	tray := d.start(d.agent, "tray", "--control-socket", filepath.Join(d.home, "agent.sock"))
	icon := <-d.icons
	testlab.Eventually(t, "the menu shows the headset", func() bool { return d.rows(icon)["Acme Headset 700"] != 0 })
	command, err := os.Readlink("/proc/" + strconv.Itoa(tray.Process.Pid) + "/exe")
	require.NoError(t, err)
	require.Equal(t, d.agent+"-tray", command)

	d.click(icon, "Copy diagnostics") // there is no clipboard here
	require.Contains(t, d.opened("acme-agent-diagnostics.txt"), "Acme Headset 700")
	d.click(icon, "Open log folder")
	testlab.Eventually(t, "the folder of the log is shown", func() bool {
		name, _ := os.ReadFile(filepath.Join(d.home, "opened"))
		return strings.HasPrefix(string(name), filepath.Join(d.home, ".local/state/sidetone/"))
	})
	kib := d.memory(tray, "VmRSS")
	t.Logf("resident memory of the tray: %d KiB", kib)
	require.LessOrEqual(t, kib, maxResident)

	second := exec.CommandContext(t.Context(), d.agent+"-tray", "--control-socket", filepath.Join(d.home, "agent.sock"))
	second.Env = d.env
	out, err := second.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "has a tray icon of this agent already")
	require.NoError(t, os.Remove(d.agent))
	out, err = exec.CommandContext(t.Context(), d.agent+"-tray").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the tray is started by the agent's program, which is not there: "+d.agent)
}
