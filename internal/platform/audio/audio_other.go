//go:build !linux && !windows

package audio

import (
	"errors"
	"fmt"

	"sidetone/internal/platform"
)

// New would return the source "audio". On this OS it cannot, and returns errors.ErrUnsupported.
func New(Options) (platform.Source, error) {
	return nil, fmt.Errorf("list audio endpoints: %w on this operating system yet", errors.ErrUnsupported)
}
