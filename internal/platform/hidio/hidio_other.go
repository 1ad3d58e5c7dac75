//go:build !linux && !windows

package hidio

import (
	"errors"
	"fmt"
	"log/slog"
)

// newBackend returns errors.ErrUnsupported.
func newBackend(string, *slog.Logger) (backend, error) {
	return nil, fmt.Errorf("read HID devices: %w on this operating system yet", errors.ErrUnsupported)
}
