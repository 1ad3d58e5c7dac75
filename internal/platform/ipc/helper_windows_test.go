package ipc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab/ipctest"
)

// helperEnv holds the job of a test process that was started by start.
const helperEnv = "SIDETONE_PLATFORM_HELPER"

// TestHelperProcess is no test: it is the other process of those that need one. It says a line when it is ready, and ends with its input.
func TestHelperProcess(t *testing.T) {
	job, argument, _ := strings.Cut(os.Getenv(helperEnv), " ")
	var l net.Listener
	var err error
	switch job {
	case "pipe":
		l, err = ipctest.Listen(argument)
	case "tcp":
		l, err = net.Listen("tcp", argument)
	case "control":
		l, err = ListenControl(argument)
	case "dial":
		_, err = DialControl(platformtest.Deadline(t), argument)
	default:
		t.Skip("runs only as a helper of other tests")
	}
	switch {
	case err != nil:
		fmt.Println(err)
	case l != nil:
		fmt.Println("listens", l.Addr())
		go func() { // a word to whom it has accepted
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte{1})
			}
		}()
	default:
		fmt.Println("connected")
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// start starts a helper, as another user unless token is 0, and returns what it says. It lives until the test ends, or stop is called.
func start(t *testing.T, token windows.Token, job string) (says string, pid int, stop func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), helperEnv+"="+job)
	cmd.SysProcAttr = &syscall.SysProcAttr{Token: syscall.Token(token)}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			in.Close()
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	says, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(says), cmd.Process.Pid, stop
}
