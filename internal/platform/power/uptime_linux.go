package power

import (
	"time"

	"golang.org/x/sys/unix"
)

// Elapsed is how long the machine runs, sleep included. No change of the wall clock moves it.
func Elapsed() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // it cannot fail
	return time.Duration(t.Nano())
}
