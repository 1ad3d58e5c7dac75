package world

import (
	"context"
	"testing"
	"testing/synctest"
)

// result is the result of a scenario.
type result struct {
	Violations []violation `json:"violations,omitempty"`
	Hash       string      `json:"hash,omitempty"` // of story.comparable, if the story was asked for
	Story      []string    `json:"story,omitempty"`
}

// play runs a scenario in a synctest bubble of its own.
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

// rules returns the names of the violated invariants.
func (r result) rules() map[string]bool {
	out := make(map[string]bool)
	for _, v := range r.Violations {
		out[v.Rule] = true
	}
	return out
}

// inBackground runs f until stop is called, which waits until f returns.
func inBackground(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		f(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}
