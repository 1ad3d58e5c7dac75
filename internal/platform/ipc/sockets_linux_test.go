package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab/ipctest"
)

// nobody is the user under whom the tests run helpers.
const nobody = "65534"

// helperEnv holds the job of a test process that was started by helper.
const helperEnv = "SIDETONE_PLATFORM_HELPER"

// TestHelperProcess is no test: it is the other process of those that need one.
func TestHelperProcess(t *testing.T) {
	job, argument, _ := strings.Cut(os.Getenv(helperEnv), " ")
	switch job {
	case "dial":
		_, _, err := in().Dial(t.Context(), argument)
		fmt.Println(err)
	case "sockets":
		sockets, notes := in(argument).Sockets()
		fmt.Println(len(sockets), health.English.Phrases(notes))
	case "listeners":
		port, _ := strconv.Atoi(argument)
		list, err := in().Listeners([]int{port})
		fmt.Printf("%+v %v\n", list, err)
	case "listen":
		network, address, _ := strings.Cut(argument, " ")
		listener, err := net.Listen(network, address)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(listener.Addr())
		go func() { // a word to whom it has accepted
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte{1})
			}
		}()
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
	case "watch":
		// Of a user namespace of its own: the limit counts for nobody else.
		limit, folder, _ := strings.Cut(argument, " ")
		if err := os.WriteFile("/proc/sys/user/"+limit, []byte("0"), 0o644); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		ctx, cancel := context.WithCancel(t.Context())
		fmt.Println(in(folder).Watch(ctx, cancel))
	case "watch-unreadable":
		ctx, cancel := context.WithCancel(t.Context())
		log := slog.New(slog.NewTextHandler(os.Stdout, nil))
		fmt.Println(NewMachine(strings.Fields(argument), log).Watch(ctx, cancel))
	default:
		t.Skip("runs only as a helper of other tests")
	}
	os.Exit(0)
}

// helper is this test program under another user; "" is the same. As that user may not enter
// the folder of the program, it is started by descriptor.
func helper(t *testing.T, user, job string) *exec.Cmd {
	program, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	argv := []string{"/proc/self/fd/3", "-test.run=^TestHelperProcess$"}
	if user != "" {
		if os.Geteuid() != 0 {
			t.Skip("only root can start a process of another user")
		}
		argv = append([]string{"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"}, argv...)
	}
	cmd := exec.CommandContext(platformtest.Deadline(t), argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), helperEnv+"="+job, "GORACE=atexit_sleep_ms=0")
	cmd.ExtraFiles = []*os.File{program}
	cmd.Stderr = os.Stderr
	return cmd
}

// unprivileged is a user whom file modes stop: root is not.
func unprivileged() string {
	if os.Geteuid() == 0 {
		return nobody
	}
	return ""
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// start runs a helper that listens, until the test ends. It returns the helper and the address.
func start(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func TestDialIPCWithoutPermission(t *testing.T) {
	path := filepath.Join(ipctest.Folder(t), socketName(0))
	listenIPC(t, path)
	require.NoError(t, os.Chmod(path, 0))
	got := output(t, helper(t, unprivileged(), "dial "+path))
	require.Equal(t, "client's socket "+path+": connect: permission denied: it belongs to another user; run the agent as the user who runs the client", got)
}

func TestIPCSocketsWithoutPermission(t *testing.T) {
	dir := ipctest.Folder(t)
	listenIPC(t, filepath.Join(dir, socketName(0)))
	require.NoError(t, os.Chmod(dir, 0))
	got := output(t, helper(t, unprivileged(), "sockets "+dir))
	require.Equal(t, "0 ["+dir+" cannot be searched for a client's socket (permission denied): let this user enter it, or remove it from the folders]", got)

	require.NoError(t, os.Chmod(dir, 0o711))
	require.Equal(t, "1 []", output(t, helper(t, unprivileged(), "sockets "+dir)), "to list the folder is not needed")
}

func TestWatchIPCWithoutPermission(t *testing.T) {
	closed, open := ipctest.Folder(t), ipctest.Folder(t)
	require.NoError(t, os.Chmod(closed, 0o111))
	got := output(t, helper(t, unprivileged(), "watch-unreadable "+closed))
	require.Equal(t, "watch for clients' sockets: "+closed+": permission denied", got)

	got = output(t, helper(t, unprivileged(), "watch-unreadable "+closed+" "+open))
	require.Contains(t, got, "folders=\""+closed+": permission denied\"")
	require.True(t, strings.HasSuffix(got, "\n<nil>"), got)
}

func TestWatchIPCHearsOfAccess(t *testing.T) {
	dir := ipctest.Folder(t)
	folder := filepath.Join(dir, "app")
	require.NoError(t, os.Mkdir(folder, 0o700))
	w := watchIPC(t, folder)
	require.NoError(t, os.Chmod(folder, 0o755))
	w.next(t, "access to the folder")
}

func TestWatchIPCLimits(t *testing.T) {
	dir := ipctest.Folder(t)
	for limit, want := range map[string]string{
		"max_inotify_watches":   "raise fs.inotify.max_user_watches",
		"max_inotify_instances": "raise fs.inotify.max_user_instances",
	} {
		cmd := helper(t, "", "watch "+limit+" "+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.Output()
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) {
			t.Skipf("this machine has no user namespaces: %v", err)
		}
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), want)
	}
}

func TestDialIPCOfAnotherUser(t *testing.T) {
	dir := ipctest.Folder(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	path := filepath.Join(dir, socketName(0))
	cmd := helper(t, nobody, "listen unix "+path)
	require.Equal(t, path, start(t, cmd))
	conn, peer, err := in().Dial(t.Context(), path)
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, local.Process{PID: cmd.Process.Pid, UID: nobody, Name: "3"}, peer)
}

// TestDialIPCHung dials a client that no longer takes connections.
func TestDialIPCHung(t *testing.T) {
	path := filepath.Join(ipctest.Folder(t), socketName(0))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}))
	require.NoError(t, syscall.Listen(fd, 0))
	for range 10 {
		conn, _, err := in().Dial(t.Context(), path)
		if err != nil {
			require.ErrorIs(t, err, syscall.EAGAIN)
			require.ErrorContains(t, err, "restart the client")
			return
		}
		defer conn.Close()
	}
	t.Fatal("the queue was never full")
}
