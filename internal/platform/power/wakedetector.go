// Package power tells when the machine has woken from sleep, and when it was started. WatchResume and Started are in each system's file.
package power

import (
	"sync"
	"time"
)

const (
	// sleepMin is the shortest sleep that counts: two clocks cannot be read at the same moment.
	sleepMin = 20 * time.Millisecond
	// frozenMin is less than the time, by the monotonic clock, for which processes are frozen around a sleep while devices stop and
	// start. So whatever a process has read in that time before it noticed the sleep was read after it.
	frozenMin = 50 * time.Millisecond
	// sameWake is for how long after a wake-up the system's message still refers to it.
	sameWake = time.Minute
)

// clocks are those of the kernel, and the process's time, which counts as monotonic does.
type clocks struct {
	boot, monotonic func() time.Duration // since the start of the machine; only boot counts sleep
	now             func() time.Time
}

// slept is how long the machine has slept since it was started. The smallest of several readings is the best: any delay between the two
// clocks adds to it.
func (c clocks) slept() time.Duration {
	least := time.Duration(-1)
	for range 3 {
		monotonic := c.monotonic()
		if d := c.boot() - monotonic; least < 0 || d < least {
			least = d
		}
	}
	return least
}

// wakeDetector reports each wake-up once, whether the system's clocks or its message (logind's on Linux) reveal it first.
type wakeDetector struct {
	clocks  clocks
	resumed func(woke time.Time)

	mu       sync.Mutex
	slept    time.Duration // up to which wake-ups were reported
	reported time.Time     // when the clocks revealed the last one; zero: the system has reported it since
}

func newWakeDetector(c clocks, resumed func(woke time.Time)) *wakeDetector {
	return &wakeDetector{clocks: c, resumed: resumed, slept: c.slept()}
}

// onClockSet must be called when the wall clock has jumped against the monotonic one: after a sleep, or because it was set.
func (w *wakeDetector) onClockSet() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.measure()
}

// onResumeReported must be called when the system says that a sleep is over. Without a clock that runs during sleep, as on a board
// without a battery, that is the only sign.
func (w *wakeDetector) onResumeReported() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clocks.now()
	known := !w.reported.IsZero() && now.Sub(w.reported) < sameWake
	if !w.measure() && !known {
		w.resumed(now)
	}
	w.reported = time.Time{}
}

// measure reports a wake-up that the clocks reveal and that was not reported yet. mu is held.
func (w *wakeDetector) measure() (reported bool) {
	slept := w.clocks.slept()
	if slept-w.slept < sleepMin {
		return false
	}
	w.slept, w.reported = slept, w.clocks.now()
	w.resumed(w.reported.Add(-frozenMin))
	return true
}
