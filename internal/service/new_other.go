//go:build !linux && !windows

package service

import (
	"errors"
	"fmt"
	"runtime"
)

// New returns errors.ErrUnsupported.
func New(Agent, Kind, func(string) string) (Manager, error) {
	return nil, fmt.Errorf("service on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// NewGlobal returns errors.ErrUnsupported.
func NewGlobal(a Agent, as Kind) (Installer, error) { return New(a, as, nil) }
