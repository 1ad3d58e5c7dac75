package ipc

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/local"
	"sidetone/internal/platform/platformtest"
)

func addParent(t *testing.T, proc string, pid int, name string, parent int) {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), fmt.Appendf(nil, "%d (%s) S %d 1 1 0 -1\n", pid, name, parent), 0o644))
}

func TestLineage(t *testing.T) {
	proc := t.TempDir()
	addParent(t, proc, 1, "init", 0)
	addParent(t, proc, 20, "user) S 7 manager", 1)
	addParent(t, proc, 300, "Discord", 20)
	addParent(t, proc, 310, "Discord", 300)
	require.NoError(t, os.Symlink("/opt/Discord/Discord (deleted)", filepath.Join(proc, "310", "exe")))
	require.Equal(t, local.Lineage{Exe: "/opt/Discord/Discord", Parents: []int{300, 20, 1}}, lineageOf(proc, 310))
	require.Equal(t, local.Lineage{Parents: []int{1}}, lineageOf(proc, 20), "another user's executable cannot be read")

	addParent(t, proc, 500, "orphan", 499)
	addParent(t, proc, 600, "circle", 601)
	addParent(t, proc, 601, "circle", 600)
	require.NoError(t, os.WriteFile(filepath.Join(proc, "20", "stat"), []byte("20 (cut) S"), 0o644))
	for _, pid := range []int{0, 310, 500, 600, 4242} {
		require.Nil(t, lineageOf(proc, pid).Parents, pid)
	}
}

// addStarted adds a process with all that is known of it: the facts of its stat, whether it has windows, and its control group.
func addStarted(t *testing.T, proc string, s processStat, windows bool, cgroup string) {
	dir := filepath.Join(proc, strconv.Itoa(s.pid))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	stat := fmt.Appendf(nil, "%d (%s) S %d %d %d %d -1\n", s.pid, s.name, s.parent, s.group, s.session, s.terminal)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), stat, 0o644))
	maps := "7f00 r-xp 0 08:01 7 /usr/lib/libc.so.6\n"
	if windows {
		maps += "7f10 r-xp 0 08:01 7 /usr/lib/libX11.so.6.4.0\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "maps"), []byte(maps), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup"), []byte("1:name=systemd:"+cgroup+"\n0::"+cgroup+"\n"), 0o644))
}

func TestWhatHasStartedOneApplication(t *testing.T) {
	for name, c := range map[string]struct {
		starter, relay, client processStat
		windows                bool // of the starter
		together               bool
	}{
		"a script": {
			starter: processStat{name: "discord.sh", parent: 1, group: 10, session: 10}, // of the panel 10, as the others
			relay:   processStat{group: 10, session: 10}, client: processStat{group: 10, session: 10}, together: true,
		},
		"a script in a terminal": {
			starter: processStat{name: "discord.sh", parent: 1, group: 50, session: 10, terminal: 34816},
			relay:   processStat{group: 50, session: 10, terminal: 34816}, client: processStat{group: 50, session: 10, terminal: 34816},
			together: true,
		},
		"a panel": {
			starter: processStat{name: "xfce4-panel", parent: 1, group: 10, session: 10}, windows: true,
			relay: processStat{group: 10, session: 10}, client: processStat{group: 10, session: 10},
		},
		"a session's leader": {
			starter: processStat{name: "xinitrc", parent: 1, group: 50, session: 50},
			relay:   processStat{group: 50, session: 50}, client: processStat{group: 50, session: 50},
		},
		"a user's manager": {
			starter: processStat{name: "systemd", parent: 1, group: 10, session: 10},
			relay:   processStat{group: 10, session: 10}, client: processStat{group: 10, session: 10},
		},
		"the shell of a terminal": {
			starter: processStat{name: "bash", parent: 1, group: 50, session: 10, terminal: 34816},
			relay:   processStat{group: 61, session: 10, terminal: 34816}, client: processStat{group: 62, session: 10, terminal: 34816},
		},
		"who adopts orphans": {
			starter: processStat{name: "gnome-session-b", parent: 1, group: 10, session: 10},
			relay:   processStat{group: 61, session: 61}, client: processStat{group: 62, session: 62},
		},
		"init": {
			starter: processStat{name: "runit", parent: 0, group: 10, session: 10},
			relay:   processStat{group: 10, session: 10}, client: processStat{group: 10, session: 10},
		},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			addParent(t, proc, 1, "init", 0)
			c.starter.pid, c.relay.pid, c.client.pid, c.relay.parent, c.client.parent = 50, 61, 62, 50, 50
			addStarted(t, proc, c.starter, c.windows, "/user.slice/session-2.scope")
			addStarted(t, proc, c.relay, false, "/user.slice/session-2.scope")
			addStarted(t, proc, c.client, true, "/user.slice/session-2.scope")
			relay, client := lineageOf(proc, 61), lineageOf(proc, 62)
			require.Equal(t, relay.Starters, client.Starters)
			if c.together {
				require.Equal(t, []int{50}, relay.Starters)
			} else {
				require.Empty(t, relay.Starters)
			}
			require.Empty(t, relay.Bundle)
		})
	}
}

func TestApplicationScopes(t *testing.T) {
	const slice = "/user.slice/user-1000.slice/user@1000.service/app.slice/"
	for name, own := range map[string]bool{
		slice + "app-gnome-discord-4711.scope":                      true,
		slice + "app-flatpak-com.discordapp.Discord-4711.scope":     true,
		slice + "app-flatpak-com.discordapp.Discord-4711.scope/sub": true,
		slice + "snap.discord.discord-0815.scope":                   true,
		slice + "app-xfce4\\x2dpanel@autostart.service":             false,
		slice + "vte-spawn-0815.scope":                              false,
		"/user.slice/user-1000.slice/user@1000.service/init.scope":  false,
		"/user.slice/user-1000.slice/session-2.scope":               false,
		"/user.slice/user-1000.slice/user@1000.service":             false,
		"/": false,
	} {
		proc := t.TempDir()
		for pid := range 4 { // orphans of one application, and of another session
			s := processStat{pid: 61 + pid, name: "Discord", parent: 1, group: 10, session: 10 + pid/3}
			addStarted(t, proc, s, pid == 1, name)
		}
		a, b, c := lineageOf(proc, 61).Bundle, lineageOf(proc, 62).Bundle, lineageOf(proc, 64).Bundle
		require.Equal(t, own, a != "", name)
		require.Equal(t, a, b)
		require.Equal(t, own, a != c)
	}
}

func TestSandboxes(t *testing.T) {
	proc := t.TempDir()
	for pid, namespaces := range map[int][2]string{
		os.Getpid(): {"pid:[1]", "mnt:[1]"}, 10: {"pid:[1]", "mnt:[1]"}, 11: {"pid:[1]", "mnt:[2]"},
		21: {"pid:[2]", "mnt:[3]"}, 22: {"pid:[2]", "mnt:[3]"}, 23: {"pid:[2]", "mnt:[4]"}, 31: {"pid:[3]", "mnt:[5]"},
	} {
		addParent(t, proc, pid, "program", 1)
		dir := filepath.Join(proc, strconv.Itoa(pid), "ns")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.Symlink(namespaces[0], filepath.Join(dir, "pid")))
		require.NoError(t, os.Symlink(namespaces[1], filepath.Join(dir, "mnt")))
	}
	bundle := func(pid int) string { return lineageOf(proc, pid).Bundle }
	require.Empty(t, bundle(10))
	require.Empty(t, bundle(11), "such as a service, or a container with all programs of its user")
	require.Empty(t, bundle(99), "cannot be read")
	require.NotEmpty(t, bundle(21))
	require.Equal(t, bundle(21), bundle(22))
	require.NotEqual(t, bundle(21), bundle(23))
	require.NotEqual(t, bundle(21), bundle(31))
}

// The scope of a terminal, or of a dock that was started as an application, has all that these start.
func TestAScopeOfSeveralApplications(t *testing.T) {
	const scope = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.kde.konsole-7.scope"
	proc := t.TempDir()
	addStarted(t, proc, processStat{pid: 40, name: "konsole", parent: 1, group: 10, session: 10}, true, scope)
	addStarted(t, proc, processStat{pid: 41, name: "bash", parent: 40, group: 41, session: 41, terminal: 34816}, false, scope)
	addStarted(t, proc, processStat{pid: 42, name: "Discord", parent: 41, group: 42, session: 41, terminal: 34816}, true, scope)
	addStarted(t, proc, processStat{pid: 43, name: "DiscordPTB", parent: 41, group: 43, session: 41, terminal: 34816}, true, scope)
	require.NotEqual(t, lineageOf(proc, 42).Bundle, lineageOf(proc, 43).Bundle, "two jobs of a terminal")

	addStarted(t, proc, processStat{pid: 50, name: "dock", parent: 1, group: 50, session: 10}, true, scope)
	addStarted(t, proc, processStat{pid: 51, name: "Discord", parent: 50, group: 50, session: 10}, true, scope)
	addStarted(t, proc, processStat{pid: 52, name: "DiscordPTB", parent: 1, group: 50, session: 10}, true, scope)
	require.Empty(t, lineageOf(proc, 51).Bundle, "the child of a dock")
	require.Empty(t, lineageOf(proc, 52).Bundle, "an orphan of its job")
}

// family starts a shell with a script that starts two programs, until the test ends, and returns the pids of all three. The script
// writes a line for each program.
func family(t *testing.T, script string, how *syscall.SysProcAttr) (shell int, programs []int) {
	t.Helper()
	cmd := exec.CommandContext(platformtest.Deadline(t), "sh", "-c", script)
	cmd.SysProcAttr = how
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe() // the programs end with it
	require.NoError(t, err)
	err = cmd.Start()
	if how.Cloneflags != 0 && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC)) {
		t.Skipf("this machine has no user namespaces: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for range 2 {
		require.True(t, lines.Scan())
	}
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		pid, _ := strconv.Atoi(e.Name())
		if stat, ok := statOf("/proc", pid); pid != 0 && ok && stat.parent == cmd.Process.Pid {
			programs = append(programs, pid)
		}
	}
	require.Len(t, programs, 2)
	return cmd.Process.Pid, programs
}

// twoPrograms starts two programs that end with the shell's input.
const twoPrograms = "exec 3<&0; cat <&3 & echo; cat <&3 & echo; wait"

func TestSiblings(t *testing.T) {
	mapped := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	groups := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	t.Run("of a start script", func(t *testing.T) {
		shell, programs := family(t, twoPrograms, &syscall.SysProcAttr{Setpgid: true})
		for _, pid := range programs {
			l := in().LineageOf(pid)
			require.Equal(t, []int{shell}, l.Starters)
			require.Empty(t, l.Bundle)
		}
	})
	t.Run("of a session's leader", func(t *testing.T) {
		_, programs := family(t, twoPrograms, &syscall.SysProcAttr{Setsid: true})
		for _, pid := range programs {
			require.Empty(t, in().LineageOf(pid).Starters)
		}
	})
	t.Run("of a shell that makes each a job", func(t *testing.T) {
		const job = "setsid sh -c 'echo; exec cat' <&3 & "
		_, programs := family(t, "exec 3<&0; "+job+job+"wait", &syscall.SysProcAttr{Setpgid: true})
		for _, pid := range programs {
			require.Empty(t, in().LineageOf(pid).Starters)
		}
	})
	t.Run("in a sandbox", func(t *testing.T) {
		_, programs := family(t, twoPrograms, &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
			UidMappings: mapped, GidMappings: groups, Setsid: true,
		})
		a, b := in().LineageOf(programs[0]), in().LineageOf(programs[1])
		require.NotEmpty(t, a.Bundle)
		require.Equal(t, a.Bundle, b.Bundle)
	})
	t.Run("that this process has started", func(t *testing.T) {
		cmd := helper(t, "", "listen tcp 127.0.0.1:0")
		start(t, cmd)
		l := in().LineageOf(cmd.Process.Pid)
		require.Empty(t, l.Starters)
		require.Empty(t, l.Bundle)
	})
}

func TestLineageOfThisProcess(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := helper(t, "", "listen tcp 127.0.0.1:0")
	start(t, cmd)
	mine, child := in().LineageOf(os.Getpid()), in().LineageOf(cmd.Process.Pid)
	require.Equal(t, exe, mine.Exe)
	require.Equal(t, exe, child.Exe)
	require.Equal(t, append([]int{os.Getpid()}, mine.Parents...), child.Parents)
}
