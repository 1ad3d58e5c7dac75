package installation

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"

	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/wine"
)

// listenerEnv makes this test binary a program that listens, and ends with a code of its own when it is asked.
const listenerEnv = "INSTALLATION_TEST_LISTENER"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asService {
		_ = svc.Run("", idle{})
		return
	}
	if ready := os.Getenv(listenerEnv); ready != "" {
		asked, err := Listen()
		if err != nil || os.WriteFile(ready, nil, 0o600) != nil {
			os.Exit(1)
		}
		os.Exit(map[Request]int{End: 10, Upgrade: 11}[<-asked])
	}
	os.Exit(m.Run())
}

// TestPrograms of a folder are found under the name that they were started by and under another one, and asked.
func TestPrograms(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	folder := t.TempDir()
	path := filepath.Join(folder, "agent.exe")
	require.NoError(t, os.WriteFile(path, program, 0o700))
	list := func() ([]Process, error) { return Running(folder, []string{"agent.exe"}) }
	start := func() *exec.Cmd {
		ready := filepath.Join(t.TempDir(), "ready")
		cmd := exec.CommandContext(t.Context(), path)
		cmd.Env = append(os.Environ(), listenerEnv+"="+ready)
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, time.Minute, 20*time.Millisecond)
		return cmd
	}
	cmd := start()
	require.NoError(t, SetAside(folder, []string{"agent.exe"}))
	second := start()
	require.NoError(t, UpgradeAll(list))
	_, _ = cmd.Process.Wait()
	require.Error(t, second.Wait())
	require.Equal(t, 11, second.ProcessState.ExitCode())

	cmd = start()
	require.NoError(t, EndAll(list, noService))
	require.Error(t, cmd.Wait())
	require.Equal(t, 10, cmd.ProcessState.ExitCode())
	require.NoError(t, RemoveAside(folder))
	all, err := list()
	require.NoError(t, err)
	require.Empty(t, all)
}

// TestTakenNames: who finds names of its events taken has others, and the installer asks by those that are the process's own. Where all
// are taken nobody is listened to, since somebody else could ask.
func TestTakenNames(t *testing.T) {
	user, err := userOf(windows.CurrentProcess())
	require.NoError(t, err)
	pid := windows.GetCurrentProcessId()
	started, err := startOf(windows.CurrentProcess())
	require.NoError(t, err)
	self := &process{windows.CurrentProcess(), pid, started}
	take := func(r Request, n int, owner string) (event windows.Handle) {
		sd, err := windows.SecurityDescriptorFromString("O:" + owner + "D:(A;;GA;;;WD)")
		require.NoError(t, err)
		name16, err := windows.UTF16PtrFromString(eventName(r, pid, started, n))
		require.NoError(t, err)
		attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
		attributes.Length = uint32(unsafe.Sizeof(*attributes))
		event, err = windows.CreateEvent(attributes, 0, 0, name16)
		require.NoError(t, err)
		return event
	}
	stranger := ipctest.Stranger
	if !wine.Is() {
		stranger = user // Windows lets nobody make an object that belongs to another user
	}
	var taken []windows.Handle
	for n := range names {
		taken = append(taken, take(Upgrade, n, stranger))
	}
	defer func() {
		for _, event := range taken {
			_ = windows.CloseHandle(event)
		}
	}()
	_, err = Listen()
	require.ErrorContains(t, err, "make the event "+eventName(Upgrade, pid, started, names-1))
	require.False(t, self.Ask(End), "nothing is left of the other one")
	require.Equal(t, !wine.Is(), self.Ask(Upgrade), "who has the names hears nothing")

	require.NoError(t, windows.CloseHandle(taken[names-1]))
	taken = taken[:names-1]
	asked, err := Listen()
	require.NoError(t, err)
	require.True(t, self.Ask(Upgrade))
	require.True(t, self.Ask(End))
	require.ElementsMatch(t, []Request{Upgrade, End}, []Request{<-asked, <-asked}, "they have waited for a reader")
	own, err := acl.OpenEvent(eventName(End, pid, started, 0), user, windows.READ_CONTROL)
	require.NoError(t, err)
	defer windows.CloseHandle(own)
	sd, err := windows.GetSecurityInfo(own, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
	require.NoError(t, err)
	require.Equal(t, "D:P(A;;GA;;;SY)(A;;GA;;;BA)(A;;0x120000;;;OW)", sd.String())
}
