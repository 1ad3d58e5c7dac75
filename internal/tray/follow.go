package tray

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/signal"
)

// Nothing tells when an agent that is there and could not be asked can be asked again: it is tried after a time that grows.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// follow tells of the agent at address until ctx ends: of every change of its status, and of whether it can be asked. It never
// polls one that runs, nor, where something tells when its socket is there, one that does not.
func follow(ctx context.Context, address string, c *control.Client, tell func(func(*view))) error {
	appeared := signal.New()
	watch, err := watchSocket(address, appeared.Notify)
	if err != nil {
		return fmt.Errorf("watch for the agent's socket %s: %w", address, err)
	}
	defer watch.Close()
	retry := firstRetry
	for {
		if sees, errs := watch.Arm(); !sees {
			return fmt.Errorf("watch for the agent's socket %s: %w", address, errors.Join(errs...))
		}
		asked := time.Now()
		err := c.Watch(ctx, func(change control.Change) error {
			retry = firstRetry
			tell(func(v *view) {
				v.Agent, v.Status = agentUp, change.Status
				v.Vendor = cmp.Or(change.Vendor, v.Vendor)
			})
			return nil
		})
		var wait time.Duration // 0: for the socket alone
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, control.ErrEnded) && time.Since(asked) >= firstRetry:
			continue // whether another one is there already is asked at once
		case errors.Is(err, control.ErrEnded):
			wait = firstRetry // one that ends every watch is not asked all the time
		case errors.Is(err, control.ErrNotRunning):
			tell(down)
			wait = downRetry
		default:
			reason := control.Unreachable(err)
			tell(func(v *view) { v.Agent, v.Reason = agentSilent, &reason })
			wait, retry = retry, min(2*retry, lastRetry)
			debug.FreeOSMemory() // what is not an agent may have said much
		}
		if _, err := appeared.Wait(ctx, wait, nil); err != nil {
			return nil // the end of ctx is no failure
		}
	}
}

// down notes that no agent runs. One that was started a moment ago is given its time.
func down(v *view) {
	if v.Agent != agentStarting {
		v.Agent = agentDown
	}
}
