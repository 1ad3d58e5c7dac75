package app

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/signal"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/tabletest"
)

// TestEnding of an agent in every state: only where another one has everything does that one go on.
func TestEnding(t *testing.T) {
	for _, s := range tabletest.Declared[handoverState](t, "handoverState") {
		for _, own := range []bool{true, false} {
			for _, session := range []bool{true, false} {
				want := EndsByItself
				if session {
					want = EndsWithSession
				}
				if s == replaced {
					want = map[bool]Ending{true: EndsSucceeded, false: EndsReplaced}[own]
				}
				require.Equal(t, want, endingOf(s, own, session), "%s, own %t, session ends %t", s, own, session)
			}
		}
	}
}

// TestSessionEndsWhileADriverHangs: an agent that waits for a driver, of whom clients have been told or which another one has replaced, is
// told that the session ends, and does not wait any more.
func TestSessionEndsWhileADriverHangs(t *testing.T) {
	defer func(d time.Duration) { sessionEndTimeout = d }(sessionEndTimeout)
	sessionEndTimeout = 0
	const child = 1 << 30 // no process has that number
	for name, c := range map[string]struct {
		pid  int // of the one that goes on; 0: none does
		want Ending
	}{
		"no other one goes on":                 {0, EndsWithSession},
		"one that it has started goes on":      {child, EndsSucceeded},
		"one that another has started does so": {child + 1, EndsReplaced},
	} {
		t.Run(name, func(t *testing.T) {
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
			if c.pid != 0 {
				a.handover.started(&os.Process{Pid: child})
				own := a.opts.Settings.Identity
				_, err := a.HandOver(t.Context(), control.HandoverRequest{
					Form: control.HandoverForm, Vendor: own.ID, ClientID: own.ClientID, PID: c.pid,
				}, "next")
				require.NoError(t, err)
				require.NoError(t, a.HandedOver("next"))
				testlab.Eventually(t, "it waits for the driver", func() bool { return a.handover.now() == replaced })
			}
			require.Equal(t, map[bool]Ending{true: EndsByItself, false: c.want}[c.pid == 0], a.Ending())
			a.sessionEnds(true)
			require.Equal(t, c.want, <-ended)
			close(stuck.free)
			<-done
			require.Equal(t, c.want, a.Ending(), "whoever of the two is the first to end the process")
		})
	}
}

// TestAnInstallerIsNoEndOfTheSession: the agent ends as it was told.
func TestAnInstallerIsNoEndOfTheSession(t *testing.T) {
	a := startApp(t, Options{Settings: bareSettings(t), EndProcess: func() { t.Error("it ends by itself") }})
	<-a.begun
	a.sessionEnds(false)
	require.Equal(t, EndsByItself, a.Ending())
}
