package power

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// WatchResume returns errors.ErrUnsupported at once.
func WatchResume(context.Context, *slog.Logger, func(woke time.Time)) error {
	return fmt.Errorf("resume from sleep is not noticed: %w on this operating system yet", errors.ErrUnsupported)
}

var processStart = time.Now()

// Uptime is how long this process, in place of the machine, has been running. Setting the wall clock does not change it; whether it
// counts sleep is up to the system.
func Uptime() time.Duration { return time.Since(processStart) }
