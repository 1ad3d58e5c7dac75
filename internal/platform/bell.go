package platform

import (
	"context"
	"os"
	"time"
)

// A bell is a signal with one slot: ringing never blocks, and all rings before the next wait
// are one.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// wait returns when the bell was rung, or after retry, where 0 means never; with an error when
// closed is closed or ctx ends.
func (b bell) wait(ctx context.Context, retry time.Duration, closed <-chan struct{}) (rung bool, err error) {
	var due <-chan time.Time
	if retry > 0 {
		timer := time.NewTimer(retry)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-b:
		return true, nil
	case <-due:
		return false, nil
	case <-closed:
		return false, os.ErrClosed
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
