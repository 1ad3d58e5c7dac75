package world

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// Result is what came of a scenario.
type Result struct {
	Violations []Violation `json:"violations,omitempty"`
	Hash       string      `json:"hash"` // of the story
	Story      []string    `json:"story,omitempty"`
}

// Play runs a scenario in a bubble of its own.
func Play(t *testing.T, s Scenario) (r Result) {
	synctest.Test(t, func(*testing.T) {
		d := newDesk(s)
		d.play()
		plot := d.story
		if d.clients != nil {
			violations, story, told := d.clients.told()
			d.violations = append(d.violations, violations...)
			plot, d.story = append(slices.Clone(plot), told...), append(d.story, story...)
		}
		sum := sha256.Sum256([]byte(strings.Join(plot, "\n")))
		r = Result{d.violations, hex.EncodeToString(sum[:8]), d.story}
	})
	return r
}

// rules are the invariants that were violated.
func (r Result) rules() map[string]bool {
	out := make(map[string]bool)
	for _, v := range r.Violations {
		out[v.Rule] = true
	}
	return out
}
