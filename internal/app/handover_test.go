package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health/healthtest"
)

// TestLocksAreNotTakenBackFromWhoHasEverything: the other agent has confirmed while this one was taking them. That one may need them again.
func TestLocksAreNotTakenBackFromWhoHasEverything(t *testing.T) {
	folder := t.TempDir()
	o := Options{Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}, Log: slog.New(slog.DiscardHandler)}
	a, err := New(o)
	require.NoError(t, err)
	t.Cleanup(a.close)
	a.releaseLocks()
	for _, s := range []handoverState{replaced, ended} {
		a.handover.state = s
		back, err := a.reclaim(t.Context())
		require.NoError(t, err)
		require.False(t, back)
		require.Equal(t, s, a.handover.now())
		other, err := New(o)
		require.NoError(t, err, "the locks are free")
		other.close()
	}
}

// TestUpdatesThatSomebodyBlocks: whoever listens where other agents would ask to go on is said, once, unless that was the agent before.
func TestUpdatesThatSomebodyBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &App{handover: newHandover(), log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		tries, done := make(chan error), make(chan struct{})
		go func() {
			defer close(done)
			a.tryHandover(ctx, func() error { return <-tries })
		}()
		taken := errors.New("another program has a pipe of this name; end it")
		for start := time.Now(); time.Since(start) < 20*time.Second; {
			tries <- taken
		}
		synctest.Wait()
		require.False(t, a.handover.blocked.Load(), "the agent before may end late")
		for range 5 {
			tries <- taken
		}
		synctest.Wait()
		require.True(t, a.handover.blocked.Load())
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
		require.Contains(t, log.String(), taken.Error())
		healthtest.Raised(t, updateBlocked)
		cancel()
		<-done
	})
}
