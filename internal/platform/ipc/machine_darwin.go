package ipc

import (
	"errors"
	"fmt"

	"sidetone/internal/local"
)

// Listeners tells which of the ports have a listener now. On this OS it cannot, and returns
// errors.ErrUnsupported.
func (Machine) Listeners([]int) ([]local.Listener, error) {
	return nil, fmt.Errorf("who listens on TCP ports: %w on this OS", errors.ErrUnsupported)
}

// Identify leaves every process unknown: this OS is not asked for it.
func (Machine) Identify([]local.Listener) {}

// LineageOf is the zero Lineage, in which all is unknown: this OS is not asked for it.
func (Machine) LineageOf(int) local.Lineage { return local.Lineage{} }
