package platform

import (
	"errors"
	"time"
)

// ErrNoAnswer means that a device's driver hangs.
var ErrNoAnswer = errors.New("its driver does not answer")

// NextTry returns how long to wait until the next try of something that has failed since a given time, if it is tried at these times
// after that; 0 if all tries are over.
func NextTry(since time.Time, tries []time.Duration) time.Duration {
	failing := time.Since(since)
	for _, at := range tries {
		if left := at - failing; left > 0 {
			return left
		}
	}
	return 0
}

// Sooner returns the shorter of two waits, of which 0 means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
