// Package signal wakes a goroutine that waits for news.
package signal

import (
	"context"
	"os"
	"time"
)

// A Signal has one slot: to notify never blocks, and all notifications before the next receive are
// one. It is received from as a channel.
type Signal chan struct{}

// New returns a Signal of which nobody has been notified.
func New() Signal { return make(Signal, 1) }

// Notify wakes who waits, or the next one who does.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Clear takes back a notification that nobody has received yet.
func (s Signal) Clear() {
	select {
	case <-s:
	default:
	}
}

// Wait returns when it was notified, or after retry, where 0 means never; with an error when
// closed is closed or ctx ends.
func (s Signal) Wait(ctx context.Context, retry time.Duration, closed <-chan struct{}) (notified bool, err error) {
	var due <-chan time.Time
	if retry > 0 {
		timer := time.NewTimer(retry)
		defer timer.Stop()
		due = timer.C
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
