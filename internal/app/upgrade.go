package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/health"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/rpcclient"
)

const (
	// TryTimeout is how long a program may take to show that it starts.
	TryTimeout = 10 * time.Second
	// ReplaceTimeout is how long an agent waits for the locks of another one that it has had end.
	ReplaceTimeout = 10 * time.Second
)

func conflict(format string, args ...any) error {
	return &control.Refusal{Kind: control.ErrConflict, Message: fmt.Sprintf(format, args...)}
}

// Upgrade makes way for this program as it is on disk now, once that has shown that it starts. It returns before this agent ends, which
// may take as long as awaitRoom. If that program does not start, nothing changes.
func (a *App) Upgrade(ctx context.Context) error {
	if a.opts.Try == nil {
		return conflict("this agent is part of another program, and cannot be started anew")
	}
	a.upgrading.Lock()
	defer a.upgrading.Unlock()
	if a.updating {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // another request may be waiting for the same answer
	defer cancel()
	defer context.AfterFunc(a.stopping, cancel)()
	err := a.opts.Try(ctx)
	switch {
	case ctx.Err() != nil:
		return &control.Refusal{Kind: control.ErrStopping, Message: "this agent ends"}
	case err != nil:
		why := &health.Condition{Code: health.UpdateRefused, Severity: health.Problem, Args: health.Args{"reason": err.Error()}}
		a.untried.Store(why)
		a.announce()
		a.log.Warn("the program is not replaced", "reason", err)
		return conflict("%s", health.English.Phrase(*why))
	}
	a.updating = true
	a.log.Info("the program on disk starts: this agent makes way for it")
	go func() {
		a.awaitRoom(a.stopping)
		a.endAs(EndsForUpdate, rpcclient.ExitUnmute)
	}()
	return nil
}

// MakeWay has the agent that runs for the same client id end as for an update. It does nothing if there is none.
func MakeWay(ctx context.Context, set *Settings, host Host) error {
	lock, err := set.lockClient(host)
	if lock != nil {
		return lock.Close()
	}
	if !errors.As(err, new(*ipc.ErrRunning)) {
		return nil // New says what is wrong
	}
	address, err := set.controlAddress(host)
	if err == nil {
		err = clientOf(address).StopForUpdate(ctx)
	}
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		return fmt.Errorf("the agent that runs goes on: %w", err)
	}
	return nil
}
