package testlab

import (
	"testing"
	"time"
)

// patience is how long a test waits for what comes at once where all is well, also in a machine
// that is emulated.
const patience = 90 * time.Second

// Until looks whether holds is true, now and after each change, and returns false if that takes
// too long. changed is asked before each look, for a channel that gets something or is closed
// with the next change.
func Until[T any](changed func() <-chan T, holds func() bool) bool {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		next := changed()
		if holds() {
			return true
		}
		select {
		case <-next:
		case <-limit.C:
			return false
		}
	}
}

// Eventually waits until holds is true, for what tells nobody of its changes: it looks again and
// again.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	if !Until(func() <-chan time.Time { return tick.C }, holds) {
		tb.Fatalf("waited %s in vain for: %s", patience, what)
	}
}
