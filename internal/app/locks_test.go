package app

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/ipc"
)

// TestLocksOfAnAgentThatIsJustEnding: who looks after this agent may have killed the one before a moment ago, or that one may have been
// told to stop and hang.
func TestLocksOfAnAgentThatIsJustEnding(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) { testLocksOfAnAgentThatIsJustEnding(t, folder) })
}

func testLocksOfAnAgentThatIsJustEnding(t *testing.T, folder string) {
	o := Options{Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}, Log: slog.New(slog.DiscardHandler)}
	before, err := New(o)
	require.NoError(t, err)
	_, err = New(o)
	require.ErrorAs(t, err, new(*ipc.ErrRunning), "a user need not wait for an answer")
	o.AwaitLocks = true
	ending := time.AfterFunc(leaveTime+time.Second, before.close)
	defer ending.Stop()
	next, err := New(o)
	require.NoError(t, err)
	defer next.close()
	_, err = New(o)
	require.ErrorAs(t, err, new(*ipc.ErrRunning), "that one does not end")
}
