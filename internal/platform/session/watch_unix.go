//go:build linux || darwin

package session

import (
	"context"
	"log/slog"
)

// Watch does nothing: devices and clients stay as they are while the screen is locked, and the end of a session sends a signal.
func Watch(context.Context, *slog.Logger, Events) error { return nil }
