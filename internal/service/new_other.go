//go:build !linux && !windows

package service

import (
	"errors"
	"fmt"
	"runtime"
)

// New finds what can start the agent on this machine.
func New(Agent, Kind, func(string) string) (Manager, error) {
	return nil, fmt.Errorf("service on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// NewGlobal registers the agent for all users of this machine.
func NewGlobal(a Agent, as Kind) (Installer, error) { return New(a, as, nil) }
