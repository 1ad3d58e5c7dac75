package supervise

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// TestAgentInheritsNoHandles: of the service it would be handles of the system.
func TestAgentInheritsNoHandles(t *testing.T) {
	event, err := windows.CreateEvent(&windows.SecurityAttributes{InheritHandle: 1}, 1, 0, nil)
	require.NoError(t, err)
	defer windows.CloseHandle(event)
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)

	heir := exec.CommandContext(t.Context(), self, agentVerb, folder)
	heir.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(event)}}
	heir.Env = append(os.Environ(), StopEventVariable+`=Local\none`)
	held := suspended(t, heir)
	require.True(t, holds(t, held, event), "a process that inherits it is seen to have it")

	var token windows.Token
	const access = windows.TOKEN_QUERY | windows.TOKEN_DUPLICATE | windows.TOKEN_ASSIGN_PRIMARY
	require.NoError(t, windows.OpenProcessToken(windows.CurrentProcess(), access, &token))
	defer token.Close()
	for n, as := range []windows.Token{0, token} { // as host starts it, and as the service
		p, err := Program{self, []string{agentVerb, folder}}.start(as, true, 0)
		require.NoError(t, err)
		started(t, folder, n+1)
		require.False(t, holds(t, p.main, event))
		p.Kill()
		p.close()
	}
}

// suspended starts a program that does nothing, until the test ends.
func suspended(t *testing.T, cmd *exec.Cmd) windows.Handle {
	cmd.SysProcAttr.CreationFlags = windows.CREATE_SUSPENDED
	require.NoError(t, cmd.Start())
	process, err := windows.OpenProcess(windows.PROCESS_DUP_HANDLE, false, uint32(cmd.Process.Pid))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = windows.CloseHandle(process)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return process
}

// holds says whether a process has this event under the number that it has here: that is the one of an inherited handle.
func holds(t *testing.T, process, event windows.Handle) bool {
	var same windows.Handle
	if windows.DuplicateHandle(process, event, windows.CurrentProcess(), &same, windows.SYNCHRONIZE, false, 0) != nil {
		return false
	}
	defer windows.CloseHandle(same)
	require.NoError(t, windows.SetEvent(event))
	on, _ := windows.WaitForSingleObject(same, 0)
	require.NoError(t, windows.ResetEvent(event))
	off, _ := windows.WaitForSingleObject(same, 0)
	return on == windows.WAIT_OBJECT_0 && off != windows.WAIT_OBJECT_0
}
