package app

import (
	"context"
	"time"

	"sidetone/internal/platform/session"
)

// endTime bounds what may be left to do at the end of the session. Windows ends a program that takes 5 s.
var endTime = 2 * time.Second

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

// sessionEnds ends this agent, as Windows has it end: now, or the session goes on, and an installer waits.
func (a *App) sessionEnds(now bool) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	a.log.Info("Windows has this process end", "now", now)
	if now {
		a.next.endWithSession()
	}
	a.Stop(ctx, false)
	if now && a.opts.EndProcess != nil {
		a.opts.EndProcess() // Windows may not wait for what is left, and then this end would pass for a failure
	}
}
