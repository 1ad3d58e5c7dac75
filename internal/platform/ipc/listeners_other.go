//go:build !linux

package ipc

import (
	"errors"
	"fmt"

	"sidetone/internal/local"
)

// Listeners tells which of the ports have a listener now. On this OS it cannot, and returns
// errors.ErrUnsupported.
func Listeners([]int) ([]local.Listener, error) {
	return nil, fmt.Errorf("who listens on TCP ports: %w on this OS", errors.ErrUnsupported)
}

// Identify knows no process on this OS.
func Identify([]local.Listener) {}
