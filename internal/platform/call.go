package platform

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Call is a call that no deadline can interrupt: into a driver, or for a file on an unreachable server.
type Call struct {
	notify func()
	late   atomic.Bool   // ReturnedBefore has given up
	done   chan struct{} // closed when it has returned
}

// NewCall returns a Call. notify, unless nil, is called when it returns after ReturnedBefore has given up.
func NewCall(notify func()) *Call { return &Call{notify: notify, done: make(chan struct{})} }

// Do makes the call, which may hang: run it in another goroutine. The results may be read when ReturnedBefore returns true, or after Wait.
func (c *Call) Do(call func()) {
	call()
	close(c.done)
	if c.late.Load() && c.notify != nil {
		c.notify()
	}
}

// ReturnedBefore reports whether the call has returned, for which it waits until ctx ends. Once it has given up it does not wait any more.
func (c *Call) ReturnedBefore(ctx context.Context) bool {
	if !c.late.Load() {
		select {
		case <-c.done:
			return true
		case <-ctx.Done():
			c.late.Store(true)
		}
	}
	select { // ctx may have ended in the wait for another call
	case <-c.done:
		return true
	default:
		return false
	}
}

// Wait waits for the call to return.
func (c *Call) Wait() { <-c.done }

// A CallGuard serializes calls that no deadline can interrupt.
type CallGuard chan struct{}

// NewCallGuard returns a guard without a call in progress.
func NewCallGuard() CallGuard { return make(CallGuard, 1) }

// CallWithContext returns the result of call, or an error once ctx ends. An abandoned call holds the guard until it returns: so what
// hangs costs one goroutine, however often it is called. notify, unless nil, is called when an abandoned call has returned.
func CallWithContext[T any](ctx context.Context, g CallGuard, notify func(), call func() (T, error)) (T, error) {
	var none T
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return none, fmt.Errorf("an earlier call has not returned: %w", ctx.Err())
	}
	var value T
	var err error
	c := NewCall(notify)
	go c.Do(func() {
		defer func() { <-g }()
		value, err = call()
	})
	if !c.ReturnedBefore(ctx) {
		return none, fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	return value, err
}
