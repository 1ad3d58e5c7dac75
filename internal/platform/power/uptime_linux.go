package power

import (
	"time"

	"golang.org/x/sys/unix"
)

// readClock is what one of the kernel's clocks shows; those that are read here cannot fail.
func readClock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t)
	return time.Duration(t.Nano())
}

// Uptime is how long the machine has been running, sleep included. No change of the wall clock moves it.
func Uptime() time.Duration { return readClock(unix.CLOCK_BOOTTIME) }

// Started is when the machine was started, by the clock on the wall as it is now.
func Started() time.Time { return time.Now().Round(0).Add(-Uptime()) }
