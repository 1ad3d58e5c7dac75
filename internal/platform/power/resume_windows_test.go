package power

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
)

func TestClocksOfWindows(t *testing.T) {
	c := kernelClocks()
	before, began := c.slept(), c.monotonic()
	require.GreaterOrEqual(t, before, time.Duration(0))
	require.Positive(t, began)
	require.InDelta(t, c.slept(), before, float64(sleepMin), "this machine sleeps while it tests")
}

func TestWatchResume(t *testing.T) {
	platformtest.NoLeak(t)
	ctx, cancel := context.WithCancel(t.Context())
	woke, done := make(chan time.Time, 8), make(chan error, 1)
	ready, err := broadcast.Subscribe(func(broadcast.Message) (uintptr, bool) { return 0, false })
	require.NoError(t, err) // the window is there
	go func() { done <- WatchResume(ctx, platformtest.Quiet(), func(at time.Time) { woke <- at }) }()
	send := func(id uint32, what uintptr) { broadcasttest.Send(t, os.Getpid(), id, what, 0) }
	began := time.Now()
	const suspends = 4
	for len(woke) == 0 { // it may not listen yet
		send(broadcast.PowerBroadcast, suspends)
		send(broadcast.PowerBroadcast, resumedBySystem)
	}
	require.GreaterOrEqual(t, (<-woke).Sub(began), time.Duration(0))
	for len(woke) > 0 {
		<-woke
	}
	send(broadcast.PowerBroadcast, resumedByUser)
	send(broadcast.TimeChange, 0)
	send(broadcast.PowerBroadcast, suspends)
	require.Empty(t, woke, "no clock shows a sleep, and it was told already")
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, ready.Close())
}
