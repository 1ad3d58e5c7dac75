//go:build !linux

package hidio

import (
	"errors"
	"fmt"
	"log/slog"

	"sidetone/internal/hid"
)

// New would return the HID devices of this machine. On this OS it cannot, and returns errors.ErrUnsupported.
func New(string, func(hid.Device) bool, func(hid.Event), *slog.Logger) (Devices, error) {
	return nil, fmt.Errorf("read HID devices: %w on this operating system yet", errors.ErrUnsupported)
}
