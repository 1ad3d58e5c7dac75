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
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/wine"
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

// stranger is the SID of a user that is made up.
const stranger = "S-1-5-21-0-0-0-1001"

// strangersToken is a token of that user. Only Wine gives it to anybody.
func strangersToken(t *testing.T) windows.Token {
	t.Helper()
	if !wine.Is() {
		t.Skip("Windows makes a token of another user for nobody but itself")
	}
	sid := func(s string) *windows.SID {
		id, err := windows.StringToSid(s)
		require.NoError(t, err)
		return id
	}
	const on = windows.SE_GROUP_MANDATORY | windows.SE_GROUP_ENABLED_BY_DEFAULT | windows.SE_GROUP_ENABLED
	user, users := sid(stranger), sid("S-1-5-21-0-0-0-513")
	groups := struct {
		count uint32
		list  [4]windows.SIDAndAttributes
	}{4, [4]windows.SIDAndAttributes{
		{Sid: users, Attributes: on},
		{Sid: sid("S-1-1-0"), Attributes: on},
		{Sid: sid("S-1-5-4"), Attributes: on},
		{Sid: sid("S-1-16-8192"), Attributes: windows.SE_GROUP_INTEGRITY | windows.SE_GROUP_INTEGRITY_ENABLED},
	}}
	var (
		token      windows.Token
		quality    = windows.SECURITY_QUALITY_OF_SERVICE{Length: 12, ImpersonationLevel: windows.SecurityImpersonation}
		attributes = windows.OBJECT_ATTRIBUTES{Length: uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})), SecurityQoS: &quality}
		system     = windows.LUID{LowPart: 0x3e7}
		never      = int64(1<<63 - 1)
		who        = windows.Tokenuser{User: windows.SIDAndAttributes{Sid: user}}
		privileges windows.Tokenprivileges
		dacl       uintptr
		source     struct {
			name [8]byte
			id   windows.LUID
		}
	)
	status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtCreateToken").Call(
		uintptr(unsafe.Pointer(&token)), windows.TOKEN_ALL_ACCESS, uintptr(unsafe.Pointer(&attributes)), windows.TokenPrimary,
		uintptr(unsafe.Pointer(&system)), uintptr(unsafe.Pointer(&never)), uintptr(unsafe.Pointer(&who)), uintptr(unsafe.Pointer(&groups)),
		uintptr(unsafe.Pointer(&privileges)), uintptr(unsafe.Pointer(&user)), uintptr(unsafe.Pointer(&users)), uintptr(unsafe.Pointer(&dacl)),
		uintptr(unsafe.Pointer(&source)))
	require.NoError(t, errOf(windows.NTStatus(status)))
	t.Cleanup(func() { token.Close() })
	return token
}

func errOf(status windows.NTStatus) error {
	if status == windows.STATUS_SUCCESS {
		return nil
	}
	return status
}
