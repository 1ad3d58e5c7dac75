package session

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
)

func TestWatch(t *testing.T) {
	platformtest.NoLeak(t)
	ctx, cancel := context.WithCancel(t.Context())
	heard, done := make(chan string, 64), make(chan error, 1)
	ready, err := broadcast.Subscribe(func(broadcast.Message) (uintptr, bool) { return 0, false })
	require.NoError(t, err) // the window is there
	go func() {
		done <- Watch(ctx, platformtest.Quiet(), Events{Returned: func() { heard <- "returned" }, Ending: func(now bool) {
			heard <- fmt.Sprint("ending ", now)
		}})
	}()
	sendData := func(id uint32, what, data uintptr) uintptr {
		answer, _ := broadcasttest.Send(t, os.Getpid(), id, what, data)
		return answer
	}
	send := func(id uint32, what uintptr) uintptr { return sendData(id, what, 0) }
	for len(heard) == 0 { // it may not listen yet
		send(broadcast.SessionChange, unlocked)
	}
	require.Equal(t, "returned", <-heard)
	require.Greater(t, broadcasttest.Rank(t), uint32(broadcasttest.OtherRank), "clients are still there")
	for _, what := range []uintptr{consoleConnected, 2, remoteConnected, 4, 5, 6, 7, unlocked, 9} {
		send(broadcast.SessionChange, what)
	}
	require.Len(t, heard, 3, "of all that is told only the user's return")
	for len(heard) > 0 {
		require.Equal(t, "returned", <-heard)
	}
	require.EqualValues(t, 1, send(broadcast.QueryEndSession, 0))
	require.Zero(t, send(broadcast.EndSession, 0))
	require.Empty(t, heard, "the session goes on after all")
	require.EqualValues(t, 1, send(broadcast.QueryEndSession, 0))
	const critical = 0x40000000
	for data, now := range map[uintptr]bool{
		0: true, logOff: true, critical: true, closeApp: false, closeApp | critical: false, closeApp | logOff: true,
	} {
		require.Zero(t, sendData(broadcast.EndSession, 1, data))
		require.Equal(t, fmt.Sprint("ending ", now), <-heard, "%#x", data)
	}
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, ready.Close())
}
