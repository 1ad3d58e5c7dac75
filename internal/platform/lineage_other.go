//go:build !linux

package platform

import (
	"errors"
	"fmt"
	"net"
)

// LineageOf knows nothing on this OS.
func LineageOf(int) Lineage { return Lineage{} }

// ConnOwner says whose the other end of a TCP connection is. On this OS it cannot, and returns
// errors.ErrUnsupported.
func ConnOwner(net.Conn) (Process, error) {
	return Process{}, fmt.Errorf("whose the other end of a connection is: %w on this OS", errors.ErrUnsupported)
}
