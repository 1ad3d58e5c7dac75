package power

import (
	"context"
	"fmt"
	"log/slog"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
)

// Events of a PowerBroadcast (winuser.h).
const (
	resumedBySystem = 0x12 // PBT_APMRESUMEAUTOMATIC: at the end of each sleep
	resumedByUser   = 0x07 // PBT_APMRESUMESUSPEND: after that, if a user has woken the machine
)

var (
	registerSuspendResume    = windows.NewLazySystemDLL("user32.dll").NewProc("RegisterSuspendResumeNotification")
	unregisterSuspendResume  = windows.NewLazySystemDLL("user32.dll").NewProc("UnregisterSuspendResumeNotification")
	queryInterruptTime       = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTime")
	queryUnbiasedInterrupted = windows.NewLazySystemDLL("kernel32.dll").NewProc("QueryUnbiasedInterruptTime")
)

// WatchResume calls resumed once each time the machine has woken from sleep, until ctx ends; then it returns nil. Windows tells all
// windows, and its clocks, of which one stops during sleep, distinguish a sleep from a clock that was set. If neither can tell,
// WatchResume returns at once with an error for people to read.
//
// woke is not before the machine fell asleep, and as close to the wake-up as is known; it has a monotonic reading. resumed must not
// block.
func WatchResume(ctx context.Context, log *slog.Logger, resumed func(woke time.Time)) error {
	w := newWakeDetector(kernelClocks(), resumed)
	heard, err := broadcast.Subscribe(func(m broadcast.Message) (answer uintptr, handled bool) {
		switch {
		case m.ID == broadcast.PowerBroadcast && m.Param == resumedBySystem:
			w.onResumeReported()
		case m.ID == broadcast.TimeChange, m.ID == broadcast.PowerBroadcast && m.Param == resumedByUser:
			w.onClockSet()
		}
		return 0, false
	}, broadcast.PowerBroadcast, broadcast.TimeChange)
	if err != nil {
		return fmt.Errorf("resume from sleep is not noticed: %w", err)
	}
	defer heard.Close()
	// Without it, a machine with modern standby reports nothing.
	const toWindow = 0
	if handle, _, err := registerSuspendResume.Call(uintptr(heard.Window()), toWindow); handle != 0 {
		defer unregisterSuspendResume.Call(handle) //nolint:errcheck // closing the window ends it, too
	} else {
		log.Warn("resume from modern standby is not noticed", "err", err)
	}
	<-ctx.Done()
	return nil
}

func kernelClocks() clocks {
	awake := func() time.Duration { return readClock(queryUnbiasedInterrupted) }
	return clocks{boot: Uptime, monotonic: awake, now: time.Now}
}

// readClock reads one of the system's clocks, which count units of 100 ns.
func readClock(query *windows.LazyProc) time.Duration {
	var now uint64
	_, _, _ = query.Call(uintptr(unsafe.Pointer(&now)))
	return time.Duration(now) * 100
}

// Uptime is how long the machine has been running, including sleep. Setting the wall clock does not change it.
func Uptime() time.Duration { return readClock(queryInterruptTime) }
