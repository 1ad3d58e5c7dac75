package rpcclient

import (
	"context"
	"errors"
	"net"
	"slices"

	"sidetone/internal/health"
	"sidetone/internal/local"
)

// Local is what the operating system knows of the sockets of this machine. No call blocks for long,
// except Watch. Without a Local, ports are probed and no IPC sockets are found.
type Local interface {
	// Sockets lists the existing IPC sockets, best first. The notes say what was left out and why.
	Sockets() (sockets []local.Socket, notes []health.Condition)
	// Dial connects to an IPC socket and returns the process that listens on it. Beside an error, Process.Denied may be set.
	Dial(ctx context.Context, path string) (net.Conn, local.Process, error)
	// Listeners returns the listeners on the given ports, with their users. An error means that they are unknown, never that
	// there are none.
	Listeners(ports []int) ([]local.Listener, error)
	// HidesListeners reports whether a port may have a listener that Listeners leaves out.
	HidesListeners() bool
	// Identify fills in the process of each listener, where the system tells.
	Identify([]local.Listener)
	// LineageOf returns how a process is related to others.
	LineageOf(pid int) local.Lineage
	// Watch calls notify, which does not block, whenever an IPC socket may have appeared or gone, until ctx
	// ends. An earlier return with an error means that such changes go unnoticed.
	Watch(ctx context.Context, notify func()) error
	// User returns the user of this process, as in local.Process.UID; "": unknown.
	User() string
}

// unrelated reports whether the processes a and b, with these lineages, certainly do not belong to one
// client: their executables differ, neither has started the other, and they were not started as one application.
func unrelated(a, b int, as, bs local.Lineage) bool {
	known := a != 0 && b != 0 && as.Exe != "" && bs.Exe != "" && as.Parents != nil && bs.Parents != nil
	return known && as.Exe != bs.Exe && !slices.Contains(as.Parents, b) && !slices.Contains(bs.Parents, a) && !together(as, bs)
}

// together reports whether two processes were started as one application: such as a client in a sandbox, and the relay beside it.
func together(a, b local.Lineage) bool {
	started := func(pid int) bool { return slices.Contains(b.Starters, pid) }
	return a.Bundle != "" && a.Bundle == b.Bundle || slices.ContainsFunc(a.Starters, started)
}

// noLocal stands for a system that reveals nothing of its sockets.
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
