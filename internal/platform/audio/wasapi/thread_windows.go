package wasapi

import (
	"context"
	"sync/atomic"

	"sidetone/internal/platform/windows/com"
)

// A thread runs functions one after another.
type thread struct {
	work chan func(entered error)
}

func newThread() *thread {
	t := &thread{make(chan func(error))}
	go t.run()
	return t
}

func (t *thread) run() {
	leave, err := com.Enter()
	for f := range t.work {
		f(err)
	}
	if err == nil {
		leave()
	}
}

// end ends the thread after its current function.
func (t *thread) end() { close(t.work) }

// call runs do on the thread, and gives up when ctx ends. late is called when a function that was given up has returned.
func call[T any](ctx context.Context, t *thread, late func(), do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	var over atomic.Bool // do has returned or was given up; the second to set it learns of the first
	work := func(entered error) {
		r := result{err: entered}
		if entered == nil {
			r.value, r.err = do()
		}
		done <- r
		if over.Swap(true) {
			late()
		}
	}
	var none T
	select {
	case t.work <- work:
	case <-ctx.Done():
		return none, silent(ctx)
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		if over.Swap(true) {
			r := <-done
			return r.value, r.err
		}
		return none, silent(ctx)
	}
}
