package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
	"sidetone/internal/timeline"
)

// Timeline returns what has happened in the last hours.
func (a *App) Timeline() timeline.Timeline { return a.timeline.Timeline() }

// settling is the time between a change and its note in the timeline: clients are told first, and what changes many times a second is
// noted less often.
const settling = 5 * time.Millisecond

// noteChanges notes the state at the start and after each change.
func (a *App) noteChanges(ctx context.Context) {
	for {
		changed := a.nextChange()
		a.noteState()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if signal.Sleep(ctx, settling) != nil {
			return
		}
	}
}

// noteState tells the timeline how clients are, and what is not in order.
func (a *App) noteState() {
	a.timeline.Clients(func() (list []timeline.Client) {
		for _, s := range a.report.Status().Sessions {
			list = append(list, timelineClient(s))
		}
		return list
	})
	_, conditions := a.state()
	a.timeline.Conditions(conditions)
	a.noteForCrash(conditions)
}

func timelineClient(s rpcclient.Session) timeline.Client {
	place := cmp.Or(s.Socket, fmt.Sprintf("port %d", s.Port))
	id := place
	if s.PID != 0 {
		id = fmt.Sprintf("pid %d", s.PID)
	}
	return timeline.Client{
		ID: id, Name: cmp.Or(s.Name, place), State: string(s.State), Via: string(s.Transport),
		Holds: holds(s.State),
	}
}

// holds reports whether a client in that state still has the last list that it accepted.
func holds(s rpcclient.State) bool {
	return s == rpcclient.Ready || s == rpcclient.Degraded || s == rpcclient.Slow
}
