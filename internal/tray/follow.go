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

// An agent that is there but does not answer gives no sign when it can be asked again, so it is asked after growing waits.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// follow reports every change of the status of the agent at address, and whether it can be asked, until ctx ends. It never polls an agent
// that runs, nor, where the appearance of its socket can be noticed, one that does not.
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
			continue // another agent may be there already
		case errors.Is(err, control.ErrEnded):
			wait = firstRetry // do not keep asking an agent that ends every watch
		case errors.Is(err, control.ErrNotRunning):
			tell(down)
			wait = downRetry
		default:
			reason := control.Unreachable(err)
			tell(func(v *view) { v.Agent, v.Reason = agentSilent, &reason })
			wait, retry = retry, min(2*retry, lastRetry)
			debug.FreeOSMemory() // whatever answered there may have sent a lot
		}
		if _, err := appeared.Wait(ctx, wait, nil); err != nil {
			return nil // the end of ctx is no failure
		}
	}
}

// down notes that no agent runs. One that was started a moment ago is given time.
func down(v *view) {
	if v.Agent != agentStarting {
		v.Agent = agentDown
	}
}
