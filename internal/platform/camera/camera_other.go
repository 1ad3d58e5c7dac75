//go:build !linux

package camera

import (
	"errors"
	"log/slog"

	"sidetone/internal/platform"
)

// New returns errors.ErrUnsupported: cameras are read on Linux only.
func New(string, *slog.Logger) (platform.Source, error) { return nil, errors.ErrUnsupported }
