//go:build !linux

package platform

import (
	"errors"
	"fmt"
	"log/slog"

	"sidetone/internal/hid"
)

// NewHID would return the source "hid". On this OS it cannot, and returns errors.ErrUnsupported.
func NewHID(string, func(hid.Device) bool, func(hid.Event), *slog.Logger) (HID, error) {
	return nil, fmt.Errorf("read HID devices: %w on this operating system yet", errors.ErrUnsupported)
}
