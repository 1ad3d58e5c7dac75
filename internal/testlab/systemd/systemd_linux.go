// Package systemd boots a real systemd for tests, as process 1 in its own namespaces: users log in, their service managers run, and
// this machine is not affected. It takes a second or two and no virtual machine.
package systemd

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sidetone/internal/testlab"
)

//go:embed boot.sh
var boot string

// Machine is a booted machine, on which the folder Share is /share.
type Machine struct {
	tb    testing.TB
	Share string
	pid   string // of its process 1, in the namespace of this process
}

// lacking returns an error if this machine lacks something that no package provides.
func lacking() error {
	if os.Geteuid() != 0 {
		return errors.New("a systemd of the test's own needs root, to make namespaces")
	}
	if out, err := exec.Command("unshare", "--fork", "--pid", "--mount", "true").CombinedOutput(); err != nil {
		return fmt.Errorf("a systemd of the test's own needs the right to make namespaces (CAP_SYS_ADMIN): %s", bytes.TrimSpace(out))
	}
	_, err := cgroups()
	return err
}

// cgroups returns the mount point of cgroup v2.
func cgroups() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup2" && !strings.HasPrefix(f[3], "ro") {
			return f[1], nil
		}
	}
	return "", errors.Join(errors.New("a systemd of the test's own needs cgroup2 mounted somewhere"), err)
}

// Boot boots a machine, which runs until the end of the test. It skips the test where this is not permitted.
func Boot(tb testing.TB) *Machine {
	tb.Helper()
	m := &Machine{tb: tb, Share: tb.TempDir()}
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatalf("boot systemd: %v; is all there that `make deps` installs?", err)
		}
	}
	if err := lacking(); err != nil {
		tb.Skip(err)
	}
	for _, program := range []string{"/lib/systemd/systemd", "dbus-daemon", "nsenter", "unshare", "runuser", "useradd", "loginctl"} {
		_, err := exec.LookPath(program)
		must(err)
	}
	must(os.Chmod(filepath.Dir(m.Share), 0o755))
	must(os.Chmod(m.Share, 0o755))
	root, err := cgroups()
	must(err)
	group, err := os.MkdirTemp(root, "systemd-test")
	must(err)
	tb.Cleanup(func() { removeGroups(tb, group) })
	must(os.Chmod(group, 0o755)) // for users' service managers
	handle, err := os.Open(group)
	must(err)
	defer handle.Close()

	var log bytes.Buffer
	cmd := exec.Command("unshare", "--cgroup", "sh", "-c", boot, "boot.sh", tb.TempDir(), m.Share)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET,
		UseCgroupFD: true, CgroupFD: int(handle.Fd()),
	}
	must(cmd.Start())
	m.pid = strconv.Itoa(cmd.Process.Pid)
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // and with it all that runs there
		_ = cmd.Wait()
		if tb.Failed() {
			tb.Logf("systemd said:\n%s", log.String())
		}
	})
	testlab.Eventually(tb, "systemd has booted", func() bool {
		return booted(m.Command("root", "systemctl", "is-system-running", "--wait"))
	})
	return m
}

// removeGroups removes a cgroup and all below it, the innermost first. They stay busy for a moment after their last process.
func removeGroups(tb testing.TB, group string) {
	testlab.Eventually(tb, "the test's cgroups are empty", func() bool {
		var all []string
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		for _, path := range slices.Backward(all) {
			_ = os.Remove(path)
		}
		_, err := os.Stat(group)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// User is a user of a Machine who stays logged in.
type User struct {
	*Machine
	Name, UID string
}

// AddUser adds a user and logs them in.
func (m *Machine) AddUser(name string) *User {
	m.tb.Helper()
	m.Run("root", "useradd", "--create-home", name)
	u := &User{m, name, strings.TrimSpace(m.Run("root", "id", "-u", name))}
	m.Run("root", "loginctl", "enable-linger", name)
	testlab.Eventually(m.tb, "the service manager of "+name, func() bool {
		return booted(u.Command("systemctl", "--user", "is-system-running", "--wait"))
	})
	return u
}

// booted reports whether a service manager has finished starting, with or without failures: sound servers have no sound card there.
func booted(ask *exec.Cmd) bool {
	state, _ := ask.Output()
	return strings.TrimSpace(string(state)) == "running" || strings.TrimSpace(string(state)) == "degraded"
}

// Command prepares a program that runs on the machine as a user, or as root.
func (m *Machine) Command(user string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{
		"--target", m.pid, "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd", "runuser", "-u", user, "--",
	}, args...)...)
}

// Run runs a program on the machine, which must succeed, and returns its output.
func (m *Machine) Run(user string, args ...string) string {
	m.tb.Helper()
	return run(m.tb, m.Command(user, args...))
}

func run(tb testing.TB, cmd *exec.Cmd) string {
	tb.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// Runtime is the user's runtime folder.
func (u *User) Runtime() string { return "/run/user/" + u.UID }

// Home is the user's home.
func (u *User) Home() string { return "/home/" + u.Name }

// Command prepares a program that runs in the user's session. Arguments before it may be NAME=VALUE, for its environment.
func (u *User) Command(args ...string) *exec.Cmd {
	env := []string{"env", "-i", "PATH=/usr/bin:/bin", "HOME=" + u.Home(), "XDG_RUNTIME_DIR=" + u.Runtime()}
	return u.Machine.Command(u.Name, append(env, args...)...)
}

// Run runs a program in the user's session, which must succeed, and returns its output.
func (u *User) Run(args ...string) string {
	u.tb.Helper()
	return run(u.tb, u.Command(args...))
}

// Write writes a file in the user's home.
func (u *User) Write(name, text string) string {
	u.tb.Helper()
	cmd := u.Command("sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1"`, "sh", filepath.Join(u.Home(), name))
	cmd.Stdin = strings.NewReader(text)
	run(u.tb, cmd)
	return filepath.Join(u.Home(), name)
}
