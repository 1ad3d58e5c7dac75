package testlab

import (
	"testing"
	"time"
)

// patience is how long a test waits for what normally happens at once. It is generous for emulated machines.
const patience = 90 * time.Second

// Until waits until holds returns true, checking now and after each change, and returns false if that
// takes too long. changed is called before each check, for a channel that is sent to or closed at the
// next change.
func Until[T any](changed func() <-chan T, holds func() bool) bool {
	limit := time.After(patience)
	for {
		next := changed()
		if holds() {
			return true
		}
		select {
		case <-next:
		case <-limit:
			return false
		}
	}
}

// Eventually polls until holds returns true, where there is no notification of changes.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if !Until(func() <-chan time.Time { return time.After(poll) }, holds) {
		tb.Fatalf("waited %s in vain for: %s", patience, what)
	}
}
