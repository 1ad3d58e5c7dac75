package power

import (
	"sync"
	"time"
)

const (
	// sleepMin is the shortest sleep that counts: two clocks are not read at one moment.
	sleepMin = 20 * time.Millisecond
	// frozenMin is less than the time for which no process runs before and after a sleep, while
	// devices are stopped and started, as the monotonic clock counts it. So what a process has
	// read in that time before it noticed the sleep is from after it.
	frozenMin = 50 * time.Millisecond
	// sameWake is for how long after a wake the system's word still concerns that wake.
	sameWake = time.Minute
)

// clocks are those of the kernel, and the time of the process, which counts as monotonic does.
type clocks struct {
	boot, monotonic func() time.Duration // since the start of the machine; only the former counts sleep
	now             func() time.Time
}

// slept is for how long the machine has slept since it was started. The smallest of some
// readings is the best: what comes between the two clocks of a pair adds to it.
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

// wakeDetector tells each wake once, whoever notices it first: the system's clocks, or its word (logind's on Linux).
type wakeDetector struct {
	clocks  clocks
	resumed func(woke time.Time)

	mu       sync.Mutex
	slept    time.Duration // of which resumed has been reported
	reported time.Time     // when it was reported by the clocks; zero: the system has told of it since
}

func newWakeDetector(c clocks, resumed func(woke time.Time)) *wakeDetector {
	return &wakeDetector{clocks: c, resumed: resumed, slept: c.slept()}
}

// onClockSet is to be called when the wall clock has jumped against the monotonic one: after a
// sleep, or because it was set.
func (w *wakeDetector) onClockSet() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.measure()
}

// onResumeTold is to be called when the system says that a sleep is over. Without a clock that runs
// while the machine sleeps, as on a board without a battery, its word is all there is.
func (w *wakeDetector) onResumeTold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clocks.now()
	known := !w.reported.IsZero() && now.Sub(w.reported) < sameWake
	if !w.measure() && !known {
		w.resumed(now)
	}
	w.reported = time.Time{}
}

// measure tells of a wake, if the clocks show one that is not reported yet. It is called with mu held.
func (w *wakeDetector) measure() (reported bool) {
	slept := w.clocks.slept()
	if slept-w.slept < sleepMin {
		return false
	}
	w.slept, w.reported = slept, w.clocks.now()
	w.resumed(w.reported.Add(-frozenMin))
	return true
}
