package power

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// WatchResume calls resumed once each time the machine has woken from sleep, until ctx ends; then it returns nil. The kernel tells, as
// its wall clock jumps, and so does systemd-logind on the system bus: not every machine has a clock that runs during sleep. If the bus
// dies, it is dialled again with growing pauses. If neither can tell, WatchResume returns at once with an error for people to read.
//
// woke is not before the machine fell asleep, and as close to the wake-up as is known; it has a monotonic reading. resumed must not
// block.
func WatchResume(ctx context.Context, log *slog.Logger, resumed func(woke time.Time)) error {
	w := newWakeDetector(kernelClocks(), resumed)
	lost := func() { log.Warn("resume from sleep is noticed by logind alone: the wall clock is no longer watched") }
	clock, clockErr := watchClockJumps(w.onClockSet, lost)
	if clockErr == nil {
		defer clock.Close()
	}
	address, busErr := unixBus(cmp.Or(os.Getenv("DBUS_SYSTEM_BUS_ADDRESS"), systemBus))
	switch {
	case clockErr != nil && busErr != nil:
		return fmt.Errorf("resume from sleep is not noticed: %w; %w", clockErr, busErr)
	case clockErr != nil:
		log.Warn("resume from sleep is noticed by logind alone", "err", clockErr)
	case busErr != nil:
		log.Debug("resume from sleep is noticed by the kernel's clocks alone", "err", busErr)
		<-ctx.Done()
		return nil
	}
	logind := logindWatch{address: address, log: log, resumed: w.onResumeReported, timeout: busTimeout, pause: busPause}
	logind.run(ctx)
	return nil
}

func kernelClocks() clocks {
	monotonic := func() time.Duration { return readClock(unix.CLOCK_MONOTONIC) }
	return clocks{boot: Uptime, monotonic: monotonic, now: time.Now}
}

// readClock reads one of the kernel's clocks; the ones used here cannot fail.
func readClock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t)
	return time.Duration(t.Nano())
}

// Uptime is how long the machine has been running, including sleep. Setting the wall clock does not change it.
func Uptime() time.Duration { return readClock(unix.CLOCK_BOOTTIME) }
