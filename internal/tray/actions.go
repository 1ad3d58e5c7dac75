package tray

import (
	"context"
	"sync"
	"time"
)

// actionInterval is the pause after one action before the next. Any program on the session bus may pretend that rows are chosen, as often
// as it likes; no user chooses that fast.
const actionInterval = 200 * time.Millisecond

// actions queues what the user has chosen. Each kind of action is queued or running at most once, so the queue is bounded by the number
// of kinds.
type actions struct {
	mu      sync.Mutex
	pending map[action]bool
	queue   chan action
}

// maxActions exceeds the number of kinds of actions.
const maxActions = 16

func newActions() *actions {
	return &actions{pending: make(map[action]bool), queue: make(chan action, maxActions)}
}

// add queues an action unless it is already queued or running. It never blocks.
func (l *actions) add(a action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pending[a] && len(l.pending) < maxActions {
		l.pending[a] = true
		l.queue <- a
	}
}

// run performs the actions one after another until ctx ends.
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
