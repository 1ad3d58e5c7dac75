package rpcclient

import (
	"context"
	"errors"
	"net"
	"slices"

	"sidetone/internal/health"
	"sidetone/internal/local"
)

// Local is what the operating system knows of the sockets of this machine. Every call has its
// own end: none blocks for long. Options without one probe the ports and find no IPC sockets.
type Local interface {
	// Sockets lists the IPC sockets that exist now, best first. The notes say
	// what was left out and why.
	Sockets() (sockets []local.Socket, notes []health.Condition)
	// Dial connects to an IPC socket and says who listens on it. With an error that may be that it is denied.
	Dial(ctx context.Context, path string) (net.Conn, local.Process, error)
	// Listeners tells which of the ports have a listener, and of which user. An error means
	// unknown, never none.
	Listeners(ports []int) ([]local.Listener, error)
	// HidesListeners reports whether a port may have a listener that Listeners leaves out.
	HidesListeners() bool
	// Identify fills in the process of each listener, where the system tells.
	Identify([]local.Listener)
	// LineageOf tells how a process is related to others.
	LineageOf(pid int) local.Lineage
	// Watch calls notify, which does not block, when an IPC socket may have appeared or gone, until ctx
	// ends. An error means that nothing will tell of that.
	Watch(ctx context.Context, notify func()) error
	// User is the user of this process, in the form of local.Process.UID; "" is unknown.
	User() string
}

// unrelated reports whether the processes a and b, of these lineages, are certainly not of one
// client: they are other programs, and neither has started the other.
func unrelated(a, b int, as, bs local.Lineage) bool {
	known := a != 0 && b != 0 && as.Exe != "" && bs.Exe != "" && as.Parents != nil && bs.Parents != nil
	return known && as.Exe != bs.Exe && !slices.Contains(as.Parents, b) && !slices.Contains(bs.Parents, a)
}

// noLocal is a system that tells nothing of its sockets.
type noLocal struct{}

func (noLocal) Sockets() ([]local.Socket, []health.Condition) { return nil, nil }

func (noLocal) Dial(context.Context, string) (net.Conn, local.Process, error) {
	return nil, local.Process{}, errors.ErrUnsupported
}
func (noLocal) Listeners([]int) ([]local.Listener, error) { return nil, errors.ErrUnsupported }
func (noLocal) HidesListeners() bool                      { return false }
func (noLocal) Identify([]local.Listener)                 {}
func (noLocal) LineageOf(int) local.Lineage               { return local.Lineage{} }
func (noLocal) Watch(ctx context.Context, _ func()) error { return errors.ErrUnsupported }
func (noLocal) User() string                              { return "" }
