package service

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/supervise"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// TestWhoHasStartedTheAgentAsksByEvents: one question is answered after the other, and one that hangs still hears that it is to end.
func TestWhoHasStartedTheAgentAsksByEvents(t *testing.T) {
	name := `Local\sidetone-test-` + rand.Text()
	event := func(name string) windows.Handle {
		name16, err := windows.UTF16PtrFromString(name)
		require.NoError(t, err)
		h, err := windows.CreateEvent(nil, 1, 0, name16) // or opens it
		if err != nil {
			require.ErrorIs(t, err, windows.ERROR_ALREADY_EXISTS)
		}
		t.Cleanup(func() { _ = windows.CloseHandle(h) })
		return h
	}
	isSet := func(h windows.Handle) bool {
		which, err := windows.WaitForSingleObject(h, 0)
		require.NoError(t, err)
		return which == windows.WAIT_OBJECT_0
	}
	end := event(name)
	stopped, hang, asked := make(chan struct{}), make(chan struct{}), make(chan struct{})
	getenv := func(variable string) string { return map[string]string{supervise.StopEventVariable: name}[variable] }
	require.NoError(t, ServeSupervisor(getenv, func() { close(stopped) }, func() { asked <- struct{}{}; <-hang }))
	alive := event(supervise.AliveEvent(name, uint32(os.Getpid())))
	for range 3 {
		require.NoError(t, windows.SetEvent(alive))
		<-asked
		require.True(t, isSet(alive), "it has not answered yet")
		hang <- struct{}{}
		require.Eventually(t, func() bool { return !isSet(alive) }, patience, time.Millisecond)
	}
	require.NoError(t, windows.SetEvent(alive))
	<-asked
	require.NoError(t, windows.SetEvent(end))
	<-stopped
	require.True(t, isSet(alive))
	close(hang)
	require.NoError(t, ServeSupervisor(func(string) string { return "" }, nil, nil), "nobody asks")
}

// TestNameThatIsTaken: the agent says so, still hears that it is to end, and keeps no handle of what somebody else has made.
func TestNameThatIsTaken(t *testing.T) {
	name := `Local\sidetone-test-` + rand.Text()
	end, err := acl.NewEvent(name, "", true)
	require.NoError(t, err)
	defer windows.CloseHandle(end)
	taken := supervise.AliveEvent(name, uint32(os.Getpid()))
	before, err := acl.NewEvent(taken, "", true)
	require.NoError(t, err)
	require.NoError(t, windows.SetEvent(before))
	stopped := make(chan struct{})
	getenv := func(variable string) string { return map[string]string{supervise.StopEventVariable: name}[variable] }
	answers := func() { assert.Fail(t, "somebody else asks") }
	err = ServeSupervisor(getenv, func() { close(stopped) }, answers)
	require.ErrorContains(t, err, "nobody starts the agent again if it hangs")
	require.ErrorIs(t, err, windows.ERROR_ALREADY_EXISTS)
	require.NoError(t, windows.CloseHandle(before))
	again, err := acl.NewEvent(taken, "", true)
	require.NoError(t, err, "no handle is left")
	require.NoError(t, windows.CloseHandle(again))
	require.NoError(t, windows.SetEvent(end))
	<-stopped
}
