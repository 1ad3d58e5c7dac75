package platform

import (
	"context"
	"fmt"
)

// A CallGuard lets one call at a time into what no deadline can interrupt: a driver, a file on a
// server that is gone.
type CallGuard chan struct{}

// NewCallGuard returns a guard behind which nothing is called.
func NewCallGuard() CallGuard { return make(CallGuard, 1) }

// CallWithContext returns call's result, or an error once ctx ends. A call that is abandoned so keeps
// the guard until it returns: what hangs costs one goroutine, however often it is asked.
func CallWithContext[T any](ctx context.Context, g CallGuard, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return none, fmt.Errorf("an earlier call has not returned: %w", ctx.Err())
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		<-g
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, fmt.Errorf("no answer in time: %w", ctx.Err())
	}
}
