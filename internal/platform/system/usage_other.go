//go:build !linux

package system

import "errors"

// ResidentMemory is not known here: errors.ErrUnsupported.
func ResidentMemory() (bytes uint64, err error) { return 0, errors.ErrUnsupported }

// OpenFiles is not known here: errors.ErrUnsupported.
func OpenFiles() (int, error) { return 0, errors.ErrUnsupported }
