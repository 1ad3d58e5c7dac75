package wasapi

import (
	"context"

	"sidetone/internal/platform"
	"sidetone/internal/platform/windows/com"
)

// A thread runs functions one after another, until it is closed.
type thread chan func(entered error)

func newThread() thread {
	t := make(thread)
	go func() {
		leave, err := com.Enter()
		for f := range t {
			f(err)
		}
		if err == nil {
			leave()
		}
	}()
	return t
}

// call runs do on the thread, and gives up when ctx ends. late is called when a function that was given up has returned.
func call[T any](ctx context.Context, t thread, late func(), do func() (T, error)) (T, error) {
	var value, none T
	var err error
	c := platform.NewCall(late)
	work := func(entered error) {
		c.Do(func() {
			if err = entered; err == nil {
				value, err = do()
			}
		})
	}
	select {
	case t <- work:
	case <-ctx.Done():
		return none, silent(ctx)
	}
	if !c.ReturnedBefore(ctx) {
		return none, silent(ctx)
	}
	return value, err
}
