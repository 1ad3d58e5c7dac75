package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
	"sidetone/internal/supervise"
)

// TestEndOfTheSession: the agent tells clients, and then whoever supervises it that it has ended with the session: the user may have called
// that off. An installer's end is one in order.
func TestEndOfTheSession(t *testing.T) {
	const closeApp, logOff = 0x1, 0x80000000
	name := fmt.Sprintf(`Local\sidetone-test-stop-%d`, os.Getpid())
	name16, err := windows.UTF16PtrFromString(name)
	require.NoError(t, err)
	stop, err := windows.CreateEvent(nil, 1, 0, name16)
	require.NoError(t, err)
	defer windows.CloseHandle(stop)
	for what, c := range map[string]struct {
		event string
		says  uintptr
		code  int
	}{
		"a log-off":     {name, logOff, supervise.ExitSession},
		"a shut-down":   {name, 0, supervise.ExitSession},
		"an installer":  {name, closeApp, exitOK},
		"in a terminal": {"", logOff, exitOK},
	} {
		t.Run(what, func(t *testing.T) {
			d := newWinDesk(t, supervise.StopEventVariable+"="+c.event)
			d.start()
			d.says("a microphone", func(*bool) bool { return true })
			broadcasttest.Send(t, d.agent.Process.Pid, broadcast.EndSession, 1, c.says)
			_ = d.agent.Wait()
			require.Equal(t, c.code, d.agent.ProcessState.ExitCode())
			require.Empty(t, d.client.Devices())
		})
	}
}
