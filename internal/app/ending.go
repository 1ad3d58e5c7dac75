package app

import (
	"context"
	"time"

	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
)

// An Ending is how an agent ends, for its process, which decides what is started next.
type Ending string

// The endings.
const (
	EndsByItself    Ending = "by itself"    // as it was told, or with the error of Run
	EndsWithSession Ending = "with session" // Windows has said that the user's session ends
	EndsForUpdate   Ending = "for update"   // the program on disk is to be started in its place
)

// Ending returns how this agent would end now.
func (a *App) Ending() Ending {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ending
}

// endAs ends the agent with leave as its farewell; "": that of the settings. An update ends only an agent that goes on: one that was told
// to stop meanwhile is not started again.
func (a *App) endAs(how Ending, leave rpcclient.ExitPolicy) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if how == EndsForUpdate && a.stopping.Err() != nil {
		return
	}
	a.ending = how
	if leave != "" {
		a.report.LeaveWith(leave)
	}
	a.stop()
}

const (
	// roomTimeout is how long an agent that is to be replaced goes on until each client has room for the next one's connection.
	roomTimeout = 30 * time.Second
	// roomInterval is the shortest time between two looks at that.
	roomInterval = 100 * time.Millisecond
)

// awaitRoom waits until each client has a token for another connection: while the next agent would wait for that, the client would learn
// of no change. It gives up when roomTimeout is over or ctx ends.
func (a *App) awaitRoom(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	defer context.AfterFunc(a.stopping, cancel)()
	for {
		wait := a.report.ConnectDelay()
		if wait <= 0 || signal.Sleep(ctx, max(wait, roomInterval)) != nil {
			return
		}
	}
}
