//go:build !linux

package power

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// WatchResume calls resumed each time the machine has woken from sleep, until ctx ends. On
// this OS it cannot, and returns at once with an error for people to read.
func WatchResume(context.Context, *slog.Logger, func(woke time.Time)) error {
	return errors.New("resume from sleep is not noticed on this OS")
}
