package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
	"sidetone/internal/signal"
	"sidetone/internal/supervise"
)

// agentOfHost makes this test binary an agent.
const agentOfHost = "agent"

// patience is how long a test waits for what must happen.
const patience = time.Minute

// agentUntilAsked says in a folder that it has started, and when it is asked to end, which it does so that it would be started again.
func agentUntilAsked(folder string) int {
	const failed = 1
	say := func(what string) error {
		return os.WriteFile(filepath.Join(folder, what+"-"+strconv.Itoa(os.Getpid())), nil, 0o600)
	}
	name, err := windows.UTF16PtrFromString(os.Getenv(supervise.StopEventVariable))
	if err != nil {
		return failed
	}
	stop, err := windows.OpenEvent(windows.SYNCHRONIZE, false, name)
	if err != nil || say("started") != nil {
		return failed
	}
	if _, err = windows.WaitForSingleObject(stop, windows.INFINITE); err == nil {
		_ = say("asked")
	}
	return failed
}

// TestHostIsToldToEnd by Windows, with the session or for an installer, as the Restart Manager and others do: it asks the agent, and starts
// none any more.
func TestHostIsToldToEnd(t *testing.T) {
	const closeApp, logOff = 1, 0x80000000
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(doesEnv, agentOfHost)
	for name, m := range map[string]broadcast.Message{
		"log-off":         {ID: broadcast.EndSession, Param: 1, Data: logOff},
		"restart manager": {ID: broadcast.EndSession, Param: 1, Data: closeApp},
		"close":           {ID: broadcast.Close},
	} {
		t.Run(name, func(t *testing.T) {
			folder, ended := t.TempDir(), make(chan int, 1)
			said := func(what string) int {
				files, err := filepath.Glob(filepath.Join(folder, what+"-*"))
				require.NoError(t, err)
				return len(files)
			}
			go func() {
				code, _ := host(self, []string{hostVerb, folder})
				ended <- code
			}()
			require.Eventually(t, func() bool { return said("started") > 0 }, patience, 20*time.Millisecond)
			require.Less(t, broadcasttest.Rank(t), uint32(broadcasttest.OtherRank), "where another program has the end called off it is still there")
			answer, _ := broadcasttest.Send(t, os.Getpid(), broadcast.QueryEndSession, 0, m.Data)
			require.EqualValues(t, 1, answer)
			broadcasttest.Send(t, os.Getpid(), broadcast.EndSession, 0, m.Data)
			require.Zero(t, said("asked"), "it was called off")
			broadcasttest.Send(t, os.Getpid(), m.ID, m.Param, m.Data)
			select {
			case code := <-ended:
				require.Zero(t, code)
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
			require.Equal(t, 1, said("asked"))
			require.Equal(t, 1, said("started"))
		})
	}
}

// TestHostHearsOfSleepAndReturn: after them, an agent that hangs is found soon, and what it has not answered before a sleep does not count.
func TestHostHearsOfSleepAndReturn(t *testing.T) {
	const battery, resumed = 0x0a, 0x12 // PBT_APMPOWERSTATUSCHANGE, PBT_APMRESUMEAUTOMATIC
	returns, sleeps := signal.New(), signal.New()
	heard, err := listen(func() { assert.Fail(t, "it is to go on") }, returns, sleeps)
	require.NoError(t, err)
	defer heard.Close()
	broadcasttest.Send(t, os.Getpid(), broadcast.SessionChange, windows.WTS_SESSION_LOCK, 0)
	require.Empty(t, returns)
	broadcasttest.Send(t, os.Getpid(), broadcast.SessionChange, windows.WTS_SESSION_UNLOCK, 0)
	require.Len(t, returns, 1)
	require.Empty(t, sleeps)
	broadcasttest.Send(t, os.Getpid(), broadcast.PowerBroadcast, battery, 0)
	require.Empty(t, sleeps)
	broadcasttest.Send(t, os.Getpid(), broadcast.PowerBroadcast, resumed, 0)
	require.Len(t, sleeps, 1)
}
