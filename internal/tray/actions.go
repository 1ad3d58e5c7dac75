package tray

import (
	"context"
	"sync"
	"time"
)

// actionInterval is the time from the end of one action to the next. Any program on the session bus may pretend that rows are chosen, as
// often as it likes; no user chooses that fast.
const actionInterval = 200 * time.Millisecond

// actions are what the user has chosen, each of which waits or runs but once: so there are never more of them than kinds.
type actions struct {
	mu      sync.Mutex
	pending map[action]bool
	queue   chan action
}

// maxActions is more than there are kinds of actions.
const maxActions = 16

func newActions() *actions {
	return &actions{pending: make(map[action]bool), queue: make(chan action, maxActions)}
}

// add never blocks. What waits or runs already is not added again.
func (l *actions) add(a action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pending[a] && len(l.pending) < maxActions {
		l.pending[a] = true
		l.queue <- a
	}
}

// run does one after the other until ctx ends.
func (l *actions) run(ctx context.Context, act func(context.Context, action)) {
	for {
		select {
		case a := <-l.queue:
			act(ctx, a)
			l.mu.Lock()
			delete(l.pending, a)
			l.mu.Unlock()
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(actionInterval):
		case <-ctx.Done():
			return
		}
	}
}
