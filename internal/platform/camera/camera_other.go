//go:build !linux && !windows

package camera

import (
	"errors"
	"fmt"
	"log/slog"

	"sidetone/internal/platform"
)

// New returns errors.ErrUnsupported.
func New(string, *slog.Logger) (platform.Source, error) {
	return nil, fmt.Errorf("list cameras: %w on this operating system yet", errors.ErrUnsupported)
}
