package platform

import (
	"context"
	"fmt"
)

// A CallGuard serializes calls that no deadline can interrupt: into a driver, or for a file on an unreachable server.
type CallGuard chan struct{}

// NewCallGuard returns a guard without a call in progress.
func NewCallGuard() CallGuard { return make(CallGuard, 1) }

// CallWithContext returns the result of call, or an error once ctx ends. An abandoned call holds the guard until it returns: so what
// hangs costs one goroutine, however often it is called.
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
