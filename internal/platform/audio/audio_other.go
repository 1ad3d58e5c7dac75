//go:build !linux && !windows

package audio

import (
	"errors"
	"fmt"

	"sidetone/internal/platform"
)

// New returns errors.ErrUnsupported.
func New(Options) (platform.Source, error) {
	return nil, fmt.Errorf("list audio endpoints: %w on this operating system yet", errors.ErrUnsupported)
}
