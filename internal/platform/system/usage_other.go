//go:build !linux

package system

import "errors"

// ResidentMemory returns errors.ErrUnsupported.
func ResidentMemory() (bytes uint64, err error) { return 0, errors.ErrUnsupported }

// OpenFiles returns errors.ErrUnsupported.
func OpenFiles() (int, error) { return 0, errors.ErrUnsupported }
