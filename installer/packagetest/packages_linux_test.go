// Package packagetest installs, upgrades and removes packages as administrators do, under a real systemd with a user who is logged in.
package packagetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/systemd"
)

// The applications of the two vendors.
const (
	acme = "123456789012345678"
	beta = "223456789012345678"
)

// manager is a package manager.
type manager struct {
	format                   string
	install, upgrade, verify []string // the package's path, or name, follows
	remove, purge            []string
	downgrade                string // flag that lets an older version come after a newer one
}

var managers = []manager{{
	format: "deb", install: []string{"dpkg", "-i"}, upgrade: []string{"dpkg", "-i"}, verify: []string{"dpkg", "--verify"},
	remove: []string{"dpkg", "-r"}, purge: []string{"dpkg", "-P"}, downgrade: "--force-downgrade",
}, {
	format: "rpm", install: []string{"rpm", "--force-debian", "--nodeps", "-i"},
	upgrade: []string{"rpm", "--force-debian", "--nodeps", "--replacepkgs", "-U"}, verify: []string{"rpm", "--nodeps", "-V"},
	remove: []string{"rpm", "--force-debian", "-e"}, downgrade: "--oldpackage",
}, {
	format: "archlinux", install: []string{"pacman", "--noconfirm", "-dd", "-U"}, upgrade: []string{"pacman", "--noconfirm", "-dd", "-U"},
	remove: []string{"pacman", "--noconfirm", "-R"},
}}

// TestPackages has a user live with the agents of two vendors, from the first installation to the last trace.
func TestPackages(t *testing.T) {
	needs(t, "dpkg", "rpm", "pacman")
	for _, p := range managers {
		t.Run(p.format, func(t *testing.T) {
			m := systemd.Boot(t)
			one := build(t, "installer/brand.yaml", p.format, "1.0.0", m.Share)
			two := build(t, "installer/brand.yaml", p.format, "1.0.1", m.Share)
			other := build(t, second(t), p.format, "1.0.0", m.Share)
			live(t, m, p, one, two, other)
		})
	}
}

func live(t *testing.T, m *systemd.Machine, p manager, one, two, other string) {
	run := func(command []string, args ...string) {
		t.Helper()
		start := time.Now()
		m.Run("root", append(command, args...)...)
		t.Logf("%s %s: %s", strings.Join(command, " "), strings.Join(args, " "), time.Since(start).Round(10*time.Millisecond))
	}
	shared := func(path string) string { return "/share/" + filepath.Base(path) }
	copyTo(t, m, filepath.Join(*built, "linux-amd64", "fakeserver"))
	u := m.AddUser("one")
	devices := u.Write("endpoints.yaml",
		`endpoints: [{id: Mic, name: Mic, type: audioinput, bus: usb, vid: "1209", pid: "0700", serial: "1"}]`)
	settings := "sources: {audio: false, camera: false, hid: false, files: [" + devices + "]}\nrpc: {on_exit: leave, tokens: 50}\n"
	u.Write(".config/acme-agent/config.yaml", settings)
	u.Write(".config/beta-agent/config.yaml", settings)
	c := startClient(t, u)
	m.Run("root", "rm", "-f", "/var/lib/man-db/auto-update") // its index of all man pages takes longer than all else here
	if p.format == "archlinux" {
		m.Run("root", "ln", "-sf", "bash", "/bin/sh") // as there: what pacman runs is not for every shell
	}
	before := files(m)

	run(p.install, shared(one))
	c.has(t, acme, 0, 1)
	run(p.install, shared(other))
	c.has(t, beta, 0, 1)
	require.Contains(t, u.Run("acme-agent", "version"), "acme-agent ")
	require.Contains(t, u.Run("acme-agent", "service", "status"), "/usr/lib/systemd/user/acme-agent.service")
	require.Contains(t, u.Run("beta-agent", "status"), "Acme Audio")
	require.NotEmpty(t, u.Run("man", "--where", "acme-agent-run"))
	require.NotEmpty(t, u.Run("find", u.Home()+"/.local/state/acme-agent", "-type", "f"), "what it keeps is in a folder of its own")

	// What the administrator says holds for everybody.
	m.Run("root", "sh", "-c", "mkdir -p /etc/acme-agent/policy.d && echo 'rpc: {on_exit: leave}' >/etc/acme-agent/policy.d/10-all.yaml")
	shows := u.Run("acme-agent", "config", "show", "--rpc-on-exit=clear")
	require.Regexp(t, `rpc.on_exit +leave +policy /etc/acme-agent/policy.d/10-all.yaml:1`, shows)
	require.Regexp(t, `catalogue +/usr/lib/acme-agent/catalogue +vendor /usr/lib/acme-agent/acme-agent.defaults.yaml:1`, shows)
	require.NotContains(t, u.Run("beta-agent", "config", "show"), "policy")

	pid := u.Run("systemctl", "--user", "show", "acme-agent", "--property=MainPID", "--value")
	u.Run("acme-agent", "push", "acme-headset-700", "hardware_mute=true", "--ttl", "10m")
	lists := len(c.of(acme))
	run(p.upgrade, shared(two))
	c.has(t, acme, lists+1, 1) // after the farewell
	require.NotContains(t, u.Run("acme-agent", "status"), "\npushed by the vendor's software\n", "the lease has ended")
	require.NotContains(t, c.of(acme), 0, "no client was without the list for a moment")
	require.Equal(t, pid, u.Run("systemctl", "--user", "show", "acme-agent", "--property=MainPID", "--value"), "to systemd it is the same process")
	require.NotContains(t, m.Run("root", "readlink", "/proc/"+strings.TrimSpace(pid)+"/exe"), "deleted", "it is the new program")
	require.Equal(t, "active\n", u.Run("systemctl", "--user", "show", "acme-agent", "--property=ActiveState", "--value"))

	if p.format == "deb" { // a removal that dpkg breaks off
		lists = len(c.of(acme))
		run([]string{"/var/lib/dpkg/info/acme-agent.prerm"}, "remove")
		c.has(t, acme, lists, 0)
		run([]string{"/var/lib/dpkg/info/acme-agent.postinst"}, "abort-remove")
		c.has(t, acme, lists+1, 1)
		lists++
	}
	run(p.remove, "acme-agent")
	c.has(t, acme, lists+1, 0)
	require.NotContains(t, c.of(beta), 0, "the other vendor's agent goes on")
	require.Contains(t, u.Run("beta-agent", "status"), "Acme Audio")
	m.Run("root", "rm", "-r", "/etc/acme-agent")
	run(p.install, shared(two))
	c.has(t, acme, lists+2, 1)

	for _, name := range []string{"acme-agent", "beta-agent"} {
		run(p.remove, name)
		if p.purge != nil {
			run(p.purge, name)
		}
	}
	c.has(t, acme, lists+3, 0)
	c.has(t, beta, 0, 0)
	require.Empty(t, m.Run("root", "sh", "-c", "ls -l /proc/[0-9]*/exe 2>/dev/null | grep -- -agent || true"), "no process is left")
	require.Equal(t, before, files(m), "what was there before is there now")
}

// interrupt starts a command, and kills it and all that it has started after so many seconds.
const interrupt = `setsid "$@" >/dev/null 2>&1 &
sleep "$0"
kill -KILL -- "-$!" 2>/dev/null
wait; true`

// TestInterrupted: a package manager that dies in the middle of an installation or an upgrade, ten times, leaves nothing that the next
// installation does not repair.
func TestInterrupted(t *testing.T) {
	needs(t, "dpkg", "rpm")
	const times = 10
	for _, p := range managers {
		if p.verify == nil { // pacman leaves its lock and wants to be told that it may overwrite
			continue
		}
		t.Run(p.format, func(t *testing.T) {
			m := systemd.Boot(t)
			m.AddUser("one")
			m.Run("root", "rm", "-f", "/var/lib/man-db/auto-update")
			versions := []string{
				build(t, "installer/brand.yaml", p.format, "1.0.0", m.Share), build(t, "installer/brand.yaml", p.format, "1.0.1", m.Share),
			}
			start := time.Now()
			m.Run("root", append(p.install, "/share/"+filepath.Base(versions[0]))...)
			whole := time.Since(start)
			for i := range times {
				if i%2 == 1 {
					m.Run("root", append(p.remove, "acme-agent")...)
				}
				command := append(slices.Clone(p.upgrade), p.downgrade, "/share/"+filepath.Base(versions[(i+1)%2]))
				// It is the point of this test that the moment is any: i tenths of the time that all of it took.
				delay := fmt.Sprint((whole * time.Duration(i) / times).Seconds())
				m.Run("root", append([]string{"sh", "-c", interrupt, delay}, command...)...)
				m.Run("root", command...)
				require.Empty(t, m.Run("root", append(p.verify, "acme-agent")...))
				require.Contains(t, m.Run("one", "acme-agent", "version"), "acme-agent ")
			}
		})
	}
}

// TestPortable: an archive that was unpacked in part is whole when it is unpacked again.
func TestPortable(t *testing.T) {
	needs(t, "tar")
	archives, err := filepath.Glob(filepath.Join(*built, "dist", "*-linux-amd64.tar.gz"))
	require.NoError(t, err)
	require.Len(t, archives, 1)
	folder := t.TempDir()
	unpack := func() *exec.Cmd { return exec.Command("tar", "-xzf", archives[0], "-C", folder) }
	for i := range 10 {
		cmd := unpack()
		require.NoError(t, cmd.Start())
		killed := time.AfterFunc(time.Duration(i)*20*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		killed.Stop()
		require.NoError(t, unpack().Run())
		require.NoError(t, exec.Command("tar", "--compare", "-zf", archives[0], "-C", folder).Run())
	}
	programs, err := filepath.Glob(filepath.Join(folder, "*", "acme-agent"))
	require.NoError(t, err)
	require.Len(t, programs, 1)
	out, err := exec.Command(programs[0], "config", "show").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), filepath.Join(filepath.Dir(programs[0]), "catalogue"))
}

// TestSizes of what is downloaded.
func TestSizes(t *testing.T) {
	needs(t)
	for pattern, limit := range map[string]int64{
		"*_amd64.deb": 7e6, "*_arm64.deb": 7e6, "*.rpm": 11e6, "*.zst": 12e6, "*.tar.gz": 12e6, "*.zip": 14e6, "*.msi": 14e6,
	} {
		found, err := filepath.Glob(filepath.Join(*built, "dist", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, path := range found {
			info, err := os.Stat(path)
			require.NoError(t, err)
			t.Logf("%s: %.2f MB", filepath.Base(path), float64(info.Size())/1e6)
			require.LessOrEqual(t, info.Size(), limit, path)
		}
	}
}

// TestLint: what there is to find has a reason in the package.
func TestLint(t *testing.T) {
	needs(t, "lintian")
	found, err := filepath.Glob(filepath.Join(*built, "dist", "acme-agent_*_amd64.deb"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	out, err := exec.Command("lintian", "--fail-on", "error,warning", "--allow-root", found[0]).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestSumsAreRight, and a changed byte is seen.
func TestSumsAreRight(t *testing.T) {
	needs(t, "sha256sum")
	dist, err := filepath.Abs(filepath.Join(*built, "dist"))
	require.NoError(t, err)
	check := exec.Command("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	check.Dir = dist
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestTwoBuilds in two folders are the same to the last byte.
func TestTwoBuilds(t *testing.T) {
	needs(t, "git", "make")
	changed, err := exec.Command("git", "status", "--porcelain").Output()
	require.NoError(t, err)
	if len(changed) > 0 {
		t.Skipf("there are changes that are in no commit, of which no other folder can be made:\n%s", changed)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	for _, command := range [][]string{{"git", "clone", "--quiet", "../..", clone}, {"make", "--directory", clone, "packages"}} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	want, err := os.ReadFile(filepath.Join(*built, "dist", "SHA256SUMS"))
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(clone, "bin/packages/dist/SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
