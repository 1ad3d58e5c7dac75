//go:build linux || darwin

package session

import (
	"context"
	"log/slog"
	"os"
	"strconv"
)

// User is the user under which this process runs, in the form of Process.UID.
func User() string { return strconv.Itoa(os.Geteuid()) }

// Watch does nothing: devices and clients stay as they are while the screen is locked, and the end of a session sends a signal.
func Watch(context.Context, *slog.Logger, Events) error { return nil }
