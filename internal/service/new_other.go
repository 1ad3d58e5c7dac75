//go:build !linux

package service

import (
	"errors"
	"fmt"
	"runtime"
)

// New finds what can start the agent on this machine.
func New(Agent, func(string) string) (Manager, error) {
	return nil, fmt.Errorf("service on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// NewGlobal registers the agent for all users of this machine.
func NewGlobal(a Agent) (Installer, error) { return New(a, nil) }
