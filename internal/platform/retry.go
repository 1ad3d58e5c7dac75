package platform

import (
	"errors"
	"time"
)

// ErrNoAnswer is what keeps a device from being used whose driver hangs.
var ErrNoAnswer = errors.New("its driver does not answer")

// NextTry is how long to wait, for something that has failed since a given time, until the next of the tries that are made at these
// times after that; 0 if they are over.
func NextTry(since time.Time, tries []time.Duration) time.Duration {
	failing := time.Since(since)
	for _, at := range tries {
		if left := at - failing; left > 0 {
			return left
		}
	}
	return 0
}

// Sooner is the shorter of two waits of which 0 is none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
