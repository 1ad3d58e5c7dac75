package installation

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"
)

// asService has this program be a service that does nothing.
const asService = "service-of-a-test"

type idle struct{}

func (idle) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop}
	for r := range requests {
		if r.Cmd == svc.Stop {
			break
		}
		status <- r.CurrentStatus
	}
	return false, 0
}

// TestStopService: the package's own ends, and one of that name that somebody runs from elsewhere goes on.
func TestStopService(t *testing.T) {
	manager, err := mgr.Connect()
	require.NoError(t, err)
	defer func() { _ = manager.Disconnect() }()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	folder := t.TempDir()
	program := filepath.Join(folder, "agent-service.exe")
	require.NoError(t, os.WriteFile(program, data, 0o700))
	name := fmt.Sprintf("sidetone-test-installation-%d", os.Getpid())
	require.NoError(t, StopService(name, folder, "agent-service.exe"), "there is none")
	s, err := manager.CreateService(name, program, mgr.Config{}, asService)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		t.Skip("this user may not make a service")
	}
	require.NoError(t, err)
	defer s.Close()
	defer func() { _ = s.Delete() }()
	require.NoError(t, s.Start())
	status := func() svc.State {
		is, err := s.Query()
		require.NoError(t, err)
		return is.State
	}
	require.Eventually(t, func() bool { return status() == svc.Running }, time.Minute, 20*time.Millisecond)
	require.NoError(t, StopService(name, t.TempDir(), "agent-service.exe"))
	require.Equal(t, svc.Running, status())
	elsewhere, ready := t.TempDir(), filepath.Join(t.TempDir(), "ready")
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "agent-service.exe"), data, 0o700))
	other := exec.CommandContext(t.Context(), filepath.Join(elsewhere, "agent-service.exe"))
	other.Env = append(os.Environ(), listenerEnv+"="+ready)
	require.NoError(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, time.Minute, 20*time.Millisecond)
	require.NoError(t, StopService(name, elsewhere, "agent-service.exe"), "whose program runs, and is not that of the service")
	require.Equal(t, svc.Running, status())
	require.NoError(t, StopService(name, folder, "agent-service.exe"))
	require.Eventually(t, func() bool { return status() == svc.Stopped }, time.Minute, 20*time.Millisecond)
	require.NoError(t, StopService(name, folder, "agent-service.exe"), "again")
}
