//go:build !linux

package power

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// WatchResume would call resumed each time the machine has woken from sleep. On this OS it cannot, and returns at once with
// errors.ErrUnsupported.
func WatchResume(context.Context, *slog.Logger, func(woke time.Time)) error {
	return fmt.Errorf("resume from sleep is not noticed: %w on this operating system yet", errors.ErrUnsupported)
}

// Started is when the machine was started; zero: nobody knows.
func Started() time.Time { return time.Time{} }
