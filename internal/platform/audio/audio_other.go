//go:build !linux

package audio

import (
	"errors"

	"sidetone/internal/platform"
)

// New returns errors.ErrUnsupported: audio endpoints are read on Linux only.
func New(Options) (platform.Source, error) { return nil, errors.ErrUnsupported }
