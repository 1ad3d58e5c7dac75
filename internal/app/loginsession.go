package app

import (
	"context"
	"time"

	"sidetone/internal/platform/session"
)

// sessionEndTimeout bounds what may be left to do at the end of the session. Windows kills a program that takes 5 s.
var sessionEndTimeout = 2 * time.Second

// watchSession follows the user's log-in session until ctx ends.
func (a *App) watchSession(ctx context.Context) {
	on := session.Events{
		Returned: func() { // meanwhile another session may have had the devices
			a.log.Info("the user is back in the session: reading everything again")
			a.Refresh()
		},
		Ending: a.sessionEnds,
	}
	if err := session.Watch(ctx, a.log, on); err != nil {
		a.log.Warn("the log-in session is not followed", "reason", err)
	}
}

// sessionEnds ends this agent because Windows says so: either the session ends now, or it goes on and an installer waits for the agent's
// end.
func (a *App) sessionEnds(now bool) {
	ctx, cancel := context.WithTimeout(context.Background(), sessionEndTimeout)
	defer cancel()
	a.log.Info("Windows asks this process to end", "now", now)
	how := EndsByItself
	if now {
		how = EndsWithSession
	}
	a.endAs(how, "")
	select {
	case <-a.farewell:
	case <-ctx.Done():
	}
	if now && a.opts.EndProcess != nil {
		a.opts.EndProcess() // Windows may not wait for the rest, and then this end would pass for a failure
	}
}
