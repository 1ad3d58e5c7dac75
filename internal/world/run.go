package world

import (
	"crypto/sha256"
	"encoding/hex"
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
		sum := sha256.Sum256([]byte(strings.Join(d.story, "\n")))
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
