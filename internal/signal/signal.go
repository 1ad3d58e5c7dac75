// Package signal wakes a goroutine that waits for something to happen, or for time to pass.
package signal

import (
	"context"
	"os"
	"time"
)

// A Signal is a channel with one slot. Notify never blocks, and all notifications before the next receive
// count as one.
type Signal chan struct{}

// New returns a Signal without a notification.
func New() Signal { return make(Signal, 1) }

// Notify wakes a waiting receiver, or the next one.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Clear removes a notification that was not received yet.
func (s Signal) Clear() {
	select {
	case <-s:
	default:
	}
}

// Sleep waits for d to pass, or for ctx to end, whose error it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait waits for a notification, for retry to pass (0: no limit), for closed to be closed, or for ctx to end. The latter two are
// errors: os.ErrClosed and that of ctx.
func (s Signal) Wait(ctx context.Context, retry time.Duration, closed <-chan struct{}) (notified bool, err error) {
	var due <-chan time.Time
	if retry > 0 {
		due = time.After(retry)
	}
	select {
	case <-s:
		return true, nil
	case <-due:
		return false, nil
	case <-closed:
		return false, os.ErrClosed
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
