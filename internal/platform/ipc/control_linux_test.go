package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab/ipctest"
)

// control listens at a new address until the test ends.
func control(t *testing.T) (address string, l net.Listener) {
	address = filepath.Join(ipctest.Folder(t), "sidetone", paths.ControlSocket)
	return address, listenAt(t, address)
}

func listenAt(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := ListenControl(address)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func echoes(t *testing.T, address string) {
	t.Helper()
	c, err := DialControl(t.Context(), address)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = c.Write([]byte("ping"))
	require.NoError(t, err)
	got := make([]byte, 4)
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
}

func TestControl(t *testing.T) {
	platformtest.NoLeak(t)
	address, l := control(t)
	echo(t, l)
	echoes(t, address)
	for path, mode := range map[string]fs.FileMode{address: 0o600, filepath.Dir(address): 0o700, filepath.Join(filepath.Dir(address), controlLock): 0o600} {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
	require.NoError(t, l.Close())
	require.NoError(t, l.Close(), "twice does no harm")
	require.NoFileExists(t, address)
	_, err := DialControl(t.Context(), address)
	require.ErrorIs(t, err, fs.ErrNotExist)
	listenAt(t, address)
}

func TestControlTellsWhoAsks(t *testing.T) {
	address, l := control(t)
	c, err := DialControl(t.Context(), address)
	require.NoError(t, err)
	defer c.Close()
	accepted, err := l.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	require.Equal(t, os.Getpid(), accepted.(interface{ PeerPID() int }).PeerPID())
}

func TestControlTwoAgents(t *testing.T) {
	address, l := control(t)
	echo(t, l)
	_, err := ListenControl(address)
	var running *ErrRunning
	require.ErrorAs(t, err, &running)
	require.Equal(t, os.Getpid(), running.PID)
	require.Equal(t, fmt.Sprintf("another agent (process %d) of this user runs already and holds %s: stop it first", running.PID, running.Lock), err.Error())
	echoes(t, address)

	// The lock alone proves it: the first one is as good without its socket.
	require.NoError(t, os.Remove(address))
	_, err = ListenControl(address)
	require.ErrorAs(t, err, &running)
	require.NoError(t, os.Truncate(running.Lock, 0))
	_, err = ListenControl(address)
	require.ErrorAs(t, err, &running)
	require.Zero(t, running.PID)
	require.Contains(t, err.Error(), "another agent of this user")
}

// TestControlAgentsRace starts many at once, again and again: one of them gets it each time.
func TestControlAgentsRace(t *testing.T) {
	address := filepath.Join(ipctest.Folder(t), "sidetone", paths.ControlSocket)
	for range 30 {
		var starting sync.WaitGroup
		got := make(chan net.Listener, 10)
		for range cap(got) {
			starting.Go(func() {
				l, err := ListenControl(address)
				var running *ErrRunning
				if err == nil {
					got <- l
				} else {
					assert.ErrorAs(t, err, &running)
				}
			})
		}
		starting.Wait()
		require.Len(t, got, 1)
		l := <-got
		c, err := DialControl(t.Context(), address)
		require.NoError(t, err)
		c.Close()
		require.NoError(t, l.Close())
	}
}

// TestControlAfterALostLock has the lock file removed, as a tidy-up of old files might do.
func TestControlAfterALostLock(t *testing.T) {
	address, l := control(t)
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(address), controlLock)))
	_, err := ListenControl(address)
	var running *ErrRunning
	require.ErrorAs(t, err, &running, "its socket is alive")
	require.Equal(t, os.Getpid(), running.PID)
	require.FileExists(t, filepath.Join(filepath.Dir(address), controlLock))

	// Everything is gone: another may start, and the first does not remove what is not its own.
	require.NoError(t, os.RemoveAll(filepath.Dir(address)))
	second := listenAt(t, address)
	require.NoError(t, l.Close())
	echo(t, second)
	echoes(t, address)
}

func TestControlKilledAgent(t *testing.T) {
	address := filepath.Join(ipctest.Folder(t), "sidetone", paths.ControlSocket)
	cmd := controlHelper(t, "", "control "+address)
	require.Equal(t, "listening", start(t, cmd))
	_, err := ListenControl(address)
	var running *ErrRunning
	require.ErrorAs(t, err, &running)
	require.Equal(t, cmd.Process.Pid, running.PID)

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.FileExists(t, running.Lock)
	info, err := os.Lstat(address)
	require.NoError(t, err, "it had no time to remove its socket")
	require.NotZero(t, info.Mode()&fs.ModeSocket)
	_, err = DialControl(t.Context(), address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	echo(t, listenAt(t, address))
	echoes(t, address)
}

func TestControlPlantedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(t *testing.T, dir, address string)
		want  string
	}{
		"folder is a link": {func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "else"), 0o700))
			require.NoError(t, os.Symlink("else", filepath.Join(dir, "sidetone")))
		}, "it is a link or a file: remove it"},
		"folder is a dangling link": {func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "sidetone")))
		}, "it is a link or a file: remove it"},
		"folder is a file": {func(t *testing.T, dir, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "sidetone"), nil, 0o600))
		}, "it is a link or a file: remove it"},
		"others write to the folder": {func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "sidetone"), 0o700))
			require.NoError(t, os.Chmod(filepath.Join(dir, "sidetone"), 0o770))
		}, "others may write to it"},
		"others write to the folder above": {func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Chmod(dir, 0o777))
		}, "others may write to the folder above it: forbid it (chmod go-w "},
		"no folder above": {func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Remove(dir))
		}, "no such file or directory: make it, or set XDG_RUNTIME_DIR"},
		"lock is a link": {func(t *testing.T, dir, address string) {
			require.NoError(t, os.Mkdir(filepath.Dir(address), 0o700))
			require.NoError(t, os.Symlink(filepath.Join(dir, "victim"), filepath.Join(filepath.Dir(address), controlLock)))
		}, "agent.lock: it is a link: remove it"},
		"lock is a folder": {func(t *testing.T, _, address string) {
			require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(address), controlLock), 0o700))
		}, "agent.lock: is a directory: remove it"},
		"socket is a link": {func(t *testing.T, dir, address string) {
			require.NoError(t, os.Mkdir(filepath.Dir(address), 0o700))
			listenIPC(t, filepath.Join(dir, "other"))
			require.NoError(t, os.Symlink(filepath.Join(dir, "other"), address))
		}, "agent.sock: there is something else in its place (L"},
		"socket is a file": {func(t *testing.T, _, address string) {
			require.NoError(t, os.Mkdir(filepath.Dir(address), 0o700))
			require.NoError(t, os.WriteFile(address, []byte("precious"), 0o600))
		}, "agent.sock: there is something else in its place (-"},
	} {
		t.Run(name, func(t *testing.T) {
			platformtest.NoLeak(t)
			dir := ipctest.Folder(t)
			address := filepath.Join(dir, "sidetone", paths.ControlSocket)
			c.plant(t, dir, address)
			before := tree(t, dir)
			for range 2 {
				_, err := ListenControl(address)
				require.ErrorContains(t, err, c.want)
				var running *ErrRunning
				require.False(t, errors.As(err, &running), "the lock was given back")
			}
			after := tree(t, dir)
			delete(after, filepath.Join("sidetone", controlLock))
			delete(before, filepath.Join("sidetone", controlLock))
			require.Equal(t, before, after, "nothing was touched")
		})
	}
}

// tree is the kind and mode of everything in dir, by path.
func tree(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // dir itself may be gone
		}
		info, err := entry.Info()
		require.NoError(t, err)
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		all[name] = fmt.Sprint(info.Mode(), info.Mode().IsRegular() && info.Size() > 0)
		return nil
	})
	return all
}

func TestControlFolderIsMadePrivate(t *testing.T) {
	address := filepath.Join(ipctest.Folder(t), "sidetone", paths.ControlSocket)
	require.NoError(t, os.Mkdir(filepath.Dir(address), 0o755))
	listenAt(t, address)
	info, err := os.Lstat(filepath.Dir(address))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
}

func TestControlAddressesThatCannotBe(t *testing.T) {
	for address, want := range map[string]string{
		"":                                       "not an absolute path",
		"agent.sock":                             "not an absolute path",
		"@abstract":                              "not an absolute path",
		"/" + strings.Repeat("x", maxSocketPath): "set XDG_RUNTIME_DIR to a shorter one",
	} {
		_, err := ListenControl(address)
		require.ErrorContains(t, err, want)
	}
	_, err := DialControl(t.Context(), "@abstract")
	require.ErrorContains(t, err, "not an absolute path")
	longest := filepath.Join(ipctest.Folder(t), "sidetone")
	longest += "/" + strings.Repeat("s", maxSocketPath-len(longest)-1)
	echo(t, listenAt(t, longest))
	echoes(t, longest)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = DialControl(ended, longest)
	require.ErrorIs(t, err, context.Canceled)
}

// TestControlOfAnotherUser has other users find the socket, all of whose modes are wide open.
func TestControlOfAnotherUser(t *testing.T) {
	address, l := control(t)
	echo(t, l)
	require.NoError(t, os.Chmod(filepath.Dir(address), 0o777))
	require.NoError(t, os.Chmod(address, 0o777))
	require.Equal(t, "sent 0 bytes", output(t, controlHelper(t, nobody, "control-rude "+address)))
	require.Contains(t, output(t, controlHelper(t, nobody, "control-dial "+address)), "belongs to another user (uid 0): run this as that user")
	echoes(t, address)
}

// TestControlAndRoot has root, as which this test runs, find the agent of a user.
func TestControlAndRoot(t *testing.T) {
	dir := ipctest.Folder(t)
	require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky))
	address := filepath.Join(dir, "sidetone", paths.ControlSocket)
	require.Equal(t, "listening", start(t, controlHelper(t, nobody, "control "+address)))
	_, err := DialControl(t.Context(), address)
	require.ErrorContains(t, err, "belongs to another user (uid "+nobody+")")
	require.Equal(t, "sent 0 bytes", output(t, controlHelper(t, "", "control-rude "+address)))
	_, err = ListenControl(address)
	require.ErrorContains(t, err, "it belongs to another user (uid "+nobody+")")
}

// TestControlInForeignFolders has a user find folders that are not his.
func TestControlInForeignFolders(t *testing.T) {
	dir := ipctest.Folder(t)
	require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky))
	squatted := filepath.Join(dir, "sidetone", paths.ControlSocket)
	require.NoError(t, os.Mkdir(filepath.Dir(squatted), 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(squatted), 0o755)) // whatever the umask is
	require.Contains(t, output(t, controlHelper(t, nobody, "control "+squatted)), "it belongs to another user (uid 0): have it removed")

	foreign := filepath.Join(dir, "theirs")
	require.NoError(t, os.Mkdir(foreign, 0o755))
	uid, err := strconv.Atoi(nobody)
	require.NoError(t, err)
	require.NoError(t, os.Chown(foreign, uid+1, -1))
	require.Contains(t, output(t, controlHelper(t, nobody, "control "+filepath.Join(foreign, "sidetone", paths.ControlSocket))), "the folder above it belongs to another user (uid 65535)")
}

// TestControlHungAgent finds a socket whose queue is full: somebody has it.
func TestControlHungAgent(t *testing.T) {
	address := filepath.Join(ipctest.Folder(t), "sidetone", paths.ControlSocket)
	require.NoError(t, os.Mkdir(filepath.Dir(address), 0o700))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: address}))
	require.NoError(t, syscall.Listen(fd, 0))
	for range 10 {
		_, err := ListenControl(address)
		var running *ErrRunning
		require.ErrorAs(t, err, &running)
		if running.PID == 0 {
			return
		}
		conn, err := net.Dial("unix", address)
		if err == nil {
			defer conn.Close()
		}
	}
	t.Fatal("the queue was never full")
}

// controlHelper is this test program under another user, at the job of TestControlHelper.
func controlHelper(t *testing.T, user, job string) *exec.Cmd {
	cmd := helper(t, user, job)
	cmd.Args[len(cmd.Args)-1] = "-test.run=^TestControlHelper$"
	return cmd
}

// TestControlHelper is no test: it is the other process of those that need one.
func TestControlHelper(t *testing.T) {
	job, address, _ := strings.Cut(os.Getenv(helperEnv), " ")
	switch job {
	case "control":
		l, err := ListenControl(address)
		if err != nil {
			fmt.Println(err)
			os.Exit(0)
		}
		fmt.Println("listening")
		go func() {
			_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
			l.Close()
		}()
		for {
			c, err := l.Accept()
			if err != nil {
				os.Exit(0)
			}
			_, _ = c.Write([]byte("hello"))
			c.Close()
		}
	case "control-rude":
		c, err := net.Dial("unix", address)
		if err != nil {
			fmt.Println(err)
			os.Exit(0)
		}
		got, _ := io.ReadAll(c)
		fmt.Println("sent", len(got), "bytes")
	case "control-dial":
		_, err := DialControl(t.Context(), address)
		fmt.Println(err)
	default:
		t.Skip("runs only as a helper of other tests")
	}
	os.Exit(0)
}

// TestControlInTmp has a place where everybody may make folders.
func TestControlInTmp(t *testing.T) {
	folder := filepath.Join("/tmp", fmt.Sprintf("sidetone-test-%d", os.Getpid()))
	t.Cleanup(func() { os.RemoveAll(folder) })
	listenAt(t, filepath.Join(folder, paths.ControlSocket))
}
