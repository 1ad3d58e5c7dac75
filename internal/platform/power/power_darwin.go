package power

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// WatchResume would call resumed each time the machine has woken from sleep. On macOS it cannot, and returns at once with
// errors.ErrUnsupported.
func WatchResume(context.Context, *slog.Logger, func(woke time.Time)) error {
	return fmt.Errorf("resume from sleep is not noticed: %w on this operating system yet", errors.ErrUnsupported)
}

// Started is when the machine was started; zero: nobody knows.
func Started() time.Time { return time.Time{} }

var processStart = time.Now()

// Uptime is how long this process has been running, in place of the machine. No change of the wall clock moves it; whether it
// counts sleep is the system's choice.
func Uptime() time.Duration { return time.Since(processStart) }
