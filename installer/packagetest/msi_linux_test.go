package packagetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
)

const (
	msiexec  = `C:\windows\system32\msiexec.exe`
	wineboot = `C:\windows\system32\wineboot.exe`
	reg      = `C:\windows\system32\reg.exe`
)

// The exit codes of msiexec, as Wine's programs hand them on: the last byte.
const refused = 1603 & 0xff

// TestMSI has a user live with the agents of two vendors on Windows, as far as Wine is one, from the first installation to the last trace.
func TestMSI(t *testing.T) {
	needs(t, "msibuild")
	folder := t.TempDir()
	one, two := build(t, "installer/brand.yaml", "msi", "1.0.0", folder), build(t, "installer/brand.yaml", "msi", "1.0.1", folder)
	other := build(t, second(t), "msi", "1.0.0", folder)
	w := newWine(t)
	_, _ = w.run(wineboot) // what Windows does once
	ours, theirs := w.desk("acme"), w.desk("beta")
	before := w.traces()
	install := func(package_ string, more ...string) {
		t.Helper()
		start := time.Now()
		out, code := w.run(msiexec, append([]string{"/qn", "/i", inWine(package_)}, more...)...)
		t.Logf("msiexec %s: %s", filepath.Base(package_), time.Since(start).Round(10*time.Millisecond))
		require.Zero(t, code, out)
	}

	install(one)
	install(other, "TRAY=0")
	require.Contains(t, w.value(`HKLM\Software\Microsoft\Windows\CurrentVersion\Run`), "acme-agent-tray")
	require.NotContains(t, w.value(`HKLM\Software\Microsoft\Windows\CurrentVersion\Run`), "beta-agent-tray")
	require.Contains(t, w.value(`HKLM\System\CurrentControlSet\Services\EventLog\Application\acme-agent`), "EventCreate.exe")
	_, _ = w.run(wineboot)
	listed(t, ours, "the log-in starts it", 1)
	listed(t, theirs, "and the other vendor's", 1)

	agent := func() string { // its process, "" while none has a session
		out, _ := w.run(inWine(w.path("Program Files/acme-agent/acme-agent.exe")), "status", "--json")
		if !strings.Contains(out, `"state": "ready"`) {
			return ""
		}
		return regexp.MustCompile(`"pid": \d+`).FindString(out)
	}
	first := agent()
	install(two)
	testlab.Eventually(t, "another process goes on", func() bool { now := agent(); return now != "" && now != first })
	for _, p := range ours.Payloads() {
		require.NotEmpty(t, p.Devices, "no client was without the list for a moment")
	}
	require.Contains(t, w.value(`HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall`), "1.0.1")

	out, code := w.run(msiexec, "/qn", "/i", inWine(one))
	require.Equal(t, refused, code, out)

	program := w.path("Program Files/acme-agent/acme-agentw.exe")
	require.NoError(t, os.Remove(program))
	product := regexp.MustCompile(`\{[0-9A-F-]+\}`).FindString(w.value(`HKLM\Software\acme-agent`))
	out, code = w.run(msiexec, "/qn", "/i", product, "REINSTALL=ALL") // what /f is short for, which Wine has not
	require.Zero(t, code, out)
	require.FileExists(t, program)
	listed(t, ours, "an agent goes on", 1)
	testlab.Eventually(t, "and can be told to stop", func() bool { return agent() != "" })

	out, code = w.run(msiexec, "/qn", "/x", product)
	require.Zero(t, code, out)
	require.Empty(t, ours.Devices(), "whatever rpc.on_exit says")
	require.Len(t, theirs.Devices(), 1)
	out, code = w.run(msiexec, "/qn", "/x", inWine(other))
	require.Zero(t, code, out)
	require.Empty(t, theirs.Devices())
	require.Empty(t, difference(before, w.traces()), "what was there before is there now")
}

// TestMSIRefuses: what cannot be done leaves nothing, and a service is registered with what it needs.
func TestMSIRefuses(t *testing.T) {
	needs(t, "msibuild")
	one := inWine(build(t, "installer/brand.yaml", "msi", "1.0.0", t.TempDir()))
	other := inWine(build(t, second(t), "msi", "1.0.0", t.TempDir()))
	w := newWine(t)
	const policies, windows = `HKLM\Software\Policies\acme-agent`, `HKLM\Software\Microsoft\Windows NT\CurrentVersion`
	w.set(policies, "catalogue", `C:\group.yaml`)
	before := w.traces()
	for _, property := range []string{
		"START=always", "ALLUSERS=", "CATALOGUE=acme.yaml", `CATALOGUE=%ProgramData%\acme.yaml`,
	} {
		out, code := w.run(msiexec, "/qn", "/i", one, property)
		require.Equal(t, refused, code, property+out)
	}
	build := regexp.MustCompile(`CurrentBuildNumber +REG_SZ +(\d+)`).FindStringSubmatch(w.value(windows))[1]
	w.set(windows, "CurrentBuildNumber", "17134")
	out, code := w.run(msiexec, "/qn", "/i", one)
	require.Equal(t, refused, code, out)
	w.set(windows, "CurrentBuildNumber", build)
	require.Empty(t, difference(before, w.traces()))
	_, code = w.run(msiexec, "/qn", "/i", one, "START=task")
	require.NotZero(t, code, "users may write in Wine's folders: no task may start what is there")
	_, _ = w.run(msiexec, "/qn", "/x", one) // Wine takes nothing back by itself

	out, code = w.run(msiexec, "/qn", "/i", one, "START=service", "TRAY=0", `CATALOGUE=C:\acme.yaml`, `InstallFolder=C:\other`)
	require.Zero(t, code, out)
	service := w.value(`HKLM\System\CurrentControlSet\Services\acme-agent`)
	for _, part := range []string{
		`C:\Program Files\acme-agent\acme-agent-service.exe`, `acme-agent "C:\Program Files\acme-agent\acme-agent.exe" run --vendor=acme`,
	} {
		require.Contains(t, service, part)
	}
	require.NotContains(t, w.value(`HKLM\Software\Microsoft\Windows\CurrentVersion\Run`), "acme-agent")
	const noPrivileges = 124 // what Wine's service manager says (ERROR_INVALID_LEVEL) where it is told them
	_, code = w.run(inWine(filepath.Join(*built, "windows-amd64", "sidetone-setup.exe")), "configure-service", `C:\Program Files\acme-agent\.`,
		"acme-agent.exe", "acme-agentw.exe", "acme-agent-service.exe")
	require.Equal(t, noPrivileges, code)
	out, code = w.run(msiexec, "/qn", "/i", other, "START=service", "TRAY=0")
	require.Zero(t, code, out)
	require.Contains(t, w.value(`HKLM\System\CurrentControlSet\Services\beta-agent`), `C:\Program Files\beta-agent\beta-agent-service.exe`,
		"a vendor whose product has the same name")
	out, code = w.run(msiexec, "/qn", "/x", other)
	require.Zero(t, code, out)
	shows := func() string {
		t.Helper()
		out, code := w.run(`C:\Program Files\acme-agent\acme-agent.exe`, "config", "show")
		require.Zero(t, code, out)
		return out
	}
	require.Regexp(t, `C:\\group.yaml +policy HKLM\\Software\\Policies\\acme-agent\\catalogue`, shows(), "what all computers have counts")
	w.unset(policies, "catalogue")
	require.Regexp(t, `C:\\acme.yaml +policy HKLM\\Software\\acme-agent\\Policy\\catalogue`, shows())
	w.set(policies, "catalogue", `C:\group.yaml`)
	out, code = w.run(msiexec, "/qn", "/x", one)
	require.Zero(t, code, out)
	require.Empty(t, difference(before, w.traces()))
	w.settingsGo()
}

// settingsGo has the command of docs/enterprise.md remove what is the user's.
func (w wine) settingsGo() {
	w.t.Helper()
	page, err := os.ReadFile("../../docs/enterprise.md")
	require.NoError(w.t, err)
	_, rest, found := strings.Cut(string(page), "```bat\n")
	require.True(w.t, found)
	command, _, _ := strings.Cut(rest, "```")
	require.NoError(w.t, os.WriteFile(w.path("remove.cmd"), []byte(command), 0o600))
	var folders []string
	for _, name := range []string{"Roaming", "Local"} {
		found, err := filepath.Glob(w.path("users/*/AppData/" + name))
		require.NoError(w.t, err)
		require.Len(w.t, found, 1)
		folders = append(folders, filepath.Join(found[0], "acme-agent"))
		require.NoError(w.t, os.MkdirAll(filepath.Join(folders[len(folders)-1], "acme"), 0o755))
	}
	out, _ := w.run(`C:\windows\system32\cmd.exe`, "/c", `C:\remove.cmd`)
	for _, folder := range folders {
		require.NoDirExists(w.t, folder, out)
	}
}

// inWine is a path of this machine as Wine has it.
func inWine(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

// path is that of a file on Wine's disk.
func (w wine) path(name string) string {
	return filepath.Join(strings.TrimPrefix(w.env[len(w.env)-1], "WINEPREFIX="), "drive_c", name)
}

// desk is a client, and the settings by which the agent of a vendor finds it and a microphone.
func (w wine) desk(vendor string) *fakeserver.Server {
	w.t.Helper()
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, ClientIDs: []string{acme, beta}})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, client.Close()) })
	users, err := filepath.Glob(w.path("users/*/AppData/Roaming"))
	require.NoError(w.t, err)
	require.Len(w.t, users, 1)
	endpoints := filepath.Join(w.t.TempDir(), "endpoints.yaml")
	for path, text := range map[string]string{
		endpoints: `endpoints: [{id: mic, type: audioinput, name: Mic, bus: usb, vid: "1209", pid: "0700", serial: A1}]`,
		filepath.Join(users[0], vendor+"-agent", "config.yaml"): fmt.Sprintf(`sources: {audio: false, camera: false, hid: false, files: ['%s']}
rpc: {ports: "%d", transports: [websocket], ipc_folders: ['\\.\pipe\sidetone-none'], tokens: 50, on_exit: leave}
`, inWine(endpoints), client.Port()),
	} {
		require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
	}
	return client
}

func listed(t *testing.T, client *fakeserver.Server, what string, n int) {
	t.Helper()
	testlab.Eventually(t, what, func() bool { return len(client.Devices()) == n })
}

// value is a key of the registry, with all below it.
func (w wine) value(key string) string {
	out, _ := w.run(reg, "query", key, "/s")
	return out
}

// set sets a value of the registry.
func (w wine) set(key, name, text string) {
	w.t.Helper()
	out, code := w.run(reg, "add", key, "/v", name, "/d", text, "/f")
	require.Zero(w.t, code, out)
}

// unset deletes one.
func (w wine) unset(key, name string) {
	w.t.Helper()
	out, code := w.run(reg, "delete", key, "/v", name, "/f")
	require.Zero(w.t, code, out)
}

// byItself is what Windows changes or makes by itself, and what Windows Installer leaves of itself: an empty folder and keys, and no key
// that has become empty.
var byItself = regexp.MustCompile(`^/windows/Installer$|^$|\\(CurrentVersion\\Run|Policies|Eventlog\\Application)\]$|DriverDateData|` +
	`\\Installer(\\UserData)?(\\S-1-5-18)?(\\(Components|Features|Products|UpgradeCodes))?\]$`)

// traces are all files of the disk, and all that the registry has of the machine's programs and services, but what agents write as their
// users.
func (w wine) traces() map[string]int {
	w.t.Helper()
	all := make(map[string]int)
	add := func(line string) {
		if !byItself.MatchString(line) {
			all[line]++
		}
	}
	root := w.path("")
	require.NoError(w.t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root)
		if d.IsDir() && (name == "/windows/temp" || strings.HasSuffix(name, "/AppData/Local")) {
			return fs.SkipDir
		}
		add(name)
		return err
	}))
	for _, key := range []string{`HKEY_LOCAL_MACHINE\Software`, `HKEY_LOCAL_MACHINE\System\CurrentControlSet\Services`} {
		export := filepath.Join(w.t.TempDir(), "registry")
		out, code := w.run(`C:\windows\regedit.exe`, "/E", inWine(export), key)
		require.Zero(w.t, code, out)
		data, err := os.ReadFile(export)
		require.NoError(w.t, err)
		for line := range strings.SplitSeq(strings.ReplaceAll(string(data), "\x00", ""), "\r\n") {
			add(line)
		}
	}
	return all
}

// difference are the lines that one of two has more often.
func difference(a, b map[string]int) (lines []string) {
	for line, n := range a {
		if b[line] != n {
			lines = append(lines, line)
		}
	}
	for line := range b {
		if a[line] == 0 {
			lines = append(lines, line)
		}
	}
	return lines
}
