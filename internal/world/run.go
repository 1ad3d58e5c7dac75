package world

import (
	"context"
	"testing"
	"testing/synctest"
)

// result is what came of a scenario.
type result struct {
	Violations []violation `json:"violations,omitempty"`
	Hash       string      `json:"hash,omitempty"` // of what is comparable in the story, if the story was asked for
	Story      []string    `json:"story,omitempty"`
}

// play runs a scenario in a bubble of its own.
func play(t *testing.T, s scenario, withStory bool) (r result) {
	synctest.Test(t, func(*testing.T) {
		d := newDesk(s, withStory)
		d.play()
		r.Violations = d.violations
		if withStory {
			r.Story = d.report()
			r.Hash = digest(d.comparable()).String()
		}
	})
	return r
}

// rules are the invariants that were violated.
func (r result) rules() map[string]bool {
	out := make(map[string]bool)
	for _, v := range r.Violations {
		out[v.Rule] = true
	}
	return out
}

// inBackground runs f until stop is called with the cause, which waits for its end.
func inBackground(f func(context.Context)) (stop func(cause error)) {
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	go func() {
		f(ctx)
		close(done)
	}()
	return func(cause error) {
		cancel(cause)
		<-done
	}
}
