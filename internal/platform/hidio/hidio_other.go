//go:build !linux && !windows

package hidio

import (
	"errors"
	"fmt"
	"log/slog"
)

// newBackend would return the HID devices of this machine.
func newBackend(string, *slog.Logger) (backend, error) {
	return nil, fmt.Errorf("read HID devices: %w on this operating system yet", errors.ErrUnsupported)
}
