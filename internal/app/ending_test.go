package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/signal"
)

// starts is a program that has shown that it starts.
func starts(context.Context) error { return nil }

func TestUpgrade(t *testing.T) {
	a := startApp(t, Options{Settings: bareSettings(t), Try: starts})
	<-a.begun
	require.NoError(t, a.Upgrade(t.Context()))
	require.NoError(t, a.Upgrade(t.Context()), "it is under way")
	<-a.farewell
	require.Equal(t, EndsForUpdate, a.Ending())
}

// TestUpgradeIsRefused: the agent goes on, and says why.
func TestUpgradeIsRefused(t *testing.T) {
	for says, try := range map[string]func(context.Context) error{
		"part of another program": nil,
		"exit status 2":           func(context.Context) error { return errors.New("exit status 2") },
	} {
		t.Run(says, func(t *testing.T) {
			a := startApp(t, Options{Settings: bareSettings(t), Try: try})
			<-a.begun
			err := a.Upgrade(t.Context())
			require.ErrorIs(t, err, control.ErrConflict)
			require.ErrorContains(t, err, says)
			require.NoError(t, a.stopping.Err())
			_, conditions := a.state()
			if why := a.untried.Load(); try != nil {
				require.Contains(t, conditions, *why)
				healthtest.Raised(t, *why)
			}
		})
	}
}

// TestWhoIsToldToStopIsNotStartedAgain, whether that comes before the update or during it.
func TestWhoIsToldToStopIsNotStartedAgain(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		a := startApp(t, Options{Settings: bareSettings(t), Try: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		<-a.begun
		time.AfterFunc(time.Millisecond, a.stop)
		require.ErrorIs(t, a.Upgrade(t.Context()), control.ErrStopping)
		require.Equal(t, EndsByItself, a.Ending())
	})
	t.Run("during", func(t *testing.T) {
		a := startApp(t, Options{Settings: bareSettings(t), Try: starts})
		<-a.begun
		require.NoError(t, a.Upgrade(t.Context()))
		<-a.stopping.Done()
		a.Stop(t.Context(), control.ListEmpty)
		require.Equal(t, EndsByItself, a.Ending())
	})
}

// TestWhoWasToReplaceThisAgentIsGone, while this agent waited for room, or was frozen: it goes on, as nobody follows.
func TestWhoWasToReplaceThisAgentIsGone(t *testing.T) {
	a := startApp(t, Options{Settings: bareSettings(t), Try: starts})
	<-a.begun
	ctx, gone := context.WithCancel(t.Context())
	gone()
	a.Stop(ctx, control.ListUnmuted)
	require.NoError(t, a.stopping.Err())
	a.Stop(t.Context(), control.ListUnmuted)
	<-a.farewell
}

// TestSessionEndsWhileADriverHangs: an agent that waits for a driver, of whom clients have been told, is told that the session ends, and
// does not wait any more.
func TestSessionEndsWhileADriverHangs(t *testing.T) {
	defer func(d time.Duration) { sessionEndTimeout = d }(sessionEndTimeout)
	sessionEndTimeout = 0
	ended := make(chan Ending, 1)
	var a *App
	a = newApp(t, Options{Settings: bareSettings(t), EndProcess: func() { ended <- a.Ending() }})
	stuck := stuckSource{make(chan struct{}), make(chan struct{})}
	a.sources, a.kicks = append(a.sources, stuck), append(a.kicks, signal.New())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Run(context.Background())
	}()
	<-stuck.listing
	<-a.begun
	require.Equal(t, EndsByItself, a.Ending())
	a.sessionEnds(true)
	require.Equal(t, EndsWithSession, <-ended)
	close(stuck.free)
	<-done
	require.Equal(t, EndsWithSession, a.Ending(), "whoever of the two is the first to end the process")
}

// TestAnInstallerIsNoEndOfTheSession: the agent ends as it was told.
func TestAnInstallerIsNoEndOfTheSession(t *testing.T) {
	a := startApp(t, Options{Settings: bareSettings(t), EndProcess: func() { t.Error("it ends by itself") }})
	<-a.begun
	a.sessionEnds(false)
	require.Equal(t, EndsByItself, a.Ending())
}
