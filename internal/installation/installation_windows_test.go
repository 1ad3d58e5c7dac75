package installation

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// listenerEnv makes this test binary a program that listens, and ends with a code of its own when it is asked.
const listenerEnv = "INSTALLATION_TEST_LISTENER"

func TestMain(m *testing.M) {
	if ready := os.Getenv(listenerEnv); ready != "" {
		asked := make(chan Request)
		if Listen(func(r Request) { asked <- r }) != nil || os.WriteFile(ready, nil, 0o600) != nil {
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
	require.NoError(t, EndAll(list))
	require.Error(t, cmd.Wait())
	require.Equal(t, 10, cmd.ProcessState.ExitCode())
	require.NoError(t, RemoveAside(folder))
	all, err := list()
	require.NoError(t, err)
	require.Empty(t, all)
}

// TestTakenName: who finds the name of an event taken listens to nobody, since somebody else could ask.
func TestTakenName(t *testing.T) {
	started, err := startOf(windows.CurrentProcess())
	require.NoError(t, err)
	name := eventName(Upgrade, windows.GetCurrentProcessId(), started)
	event, err := newEvent(name)
	require.NoError(t, err)
	defer windows.CloseHandle(event)
	sd, err := windows.GetSecurityInfo(event, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
	require.NoError(t, err)
	require.Equal(t, "D:P(A;;GA;;;SY)(A;;GA;;;BA)(A;;0x120000;;;OW)", sd.String())
	require.ErrorContains(t, Listen(func(Request) {}), "make the event "+name)
	self := &process{pid: windows.GetCurrentProcessId(), started: started}
	require.False(t, self.Ask(End), "nothing is left of the other one")
}
