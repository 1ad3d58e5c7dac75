//go:build linux || darwin

package session

import (
	"context"
	"log/slog"
	"os"
	"strconv"
)

// User returns the user of this process, in the form of Process.UID.
func User() string { return strconv.Itoa(os.Geteuid()) }

// Watch does nothing: devices and clients stay while the screen is locked, and the end of a session sends a signal.
func Watch(context.Context, *slog.Logger, Events) error { return nil }
