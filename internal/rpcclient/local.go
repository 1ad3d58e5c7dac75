package rpcclient

import (
	"context"
	"errors"
	"net"
	"slices"
)

// Local is what the operating system knows of the sockets of this machine. Every call has its
// own end: none blocks for long. Options without one probe the ports and find no IPC sockets.
type Local interface {
	// Sockets lists the IPC sockets that exist now, best first. The notes say, for people,
	// what was left out and why.
	Sockets() (sockets []Socket, notes []string)
	// Dial connects to an IPC socket and says who listens on it.
	Dial(ctx context.Context, path string) (net.Conn, Process, error)
	// Listeners tells which of the ports have a listener, and of which user. An error means
	// unknown, never none.
	Listeners(ports []int) ([]Listener, error)
	// Identify fills in the process of each listener, where the system tells.
	Identify([]Listener)
	// LineageOf tells how a process is related to others.
	LineageOf(pid int) Lineage
	// Watch calls notify when an IPC socket may have appeared or gone, until ctx ends. An
	// error means that nothing will tell. notify does not block.
	Watch(ctx context.Context, notify func()) error
	// User is the user of this process, in the form of Process.UID; "" is unknown.
	User() string
}

// Process is the owner of a socket, as far as the operating system tells.
type Process struct {
	PID  int    // 0 is unknown
	UID  string // the user; "" is unknown
	Name string // of the program, for people; "" is unknown
}

// Lineage tells how processes are related: several processes may be one client.
type Lineage struct {
	Exe     string // path of the executable; "" is unknown
	Parents []int  // the parent, its parent and so on, as far as processes can be seen; nil is unknown
}

// unrelated reports whether the processes a and b, of these lineages, are certainly not of one
// client: they are other programs, and neither has started the other.
func unrelated(a, b int, as, bs Lineage) bool {
	known := a != 0 && b != 0 && as.Exe != "" && bs.Exe != "" && as.Parents != nil && bs.Parents != nil
	return known && as.Exe != bs.Exe && !slices.Contains(as.Parents, b) && !slices.Contains(bs.Parents, a)
}

// Socket is an IPC socket, or a named pipe.
type Socket struct {
	Path string
	ID   string // differs once it was removed and made anew; "" is unknown
}

// Listener is a port on which somebody accepts connections to 127.0.0.1.
type Listener struct {
	Port int
	ID   uint64 // differs once its owner has closed the port and opened it again; 0 is unknown
	Process
}

// noLocal knows nothing.
type noLocal struct{}

func (noLocal) Sockets() ([]Socket, []string) { return nil, nil }

func (noLocal) Dial(context.Context, string) (net.Conn, Process, error) {
	return nil, Process{}, errors.ErrUnsupported
}
func (noLocal) Listeners([]int) ([]Listener, error)       { return nil, errors.ErrUnsupported }
func (noLocal) Identify([]Listener)                       {}
func (noLocal) LineageOf(int) Lineage                     { return Lineage{} }
func (noLocal) Watch(ctx context.Context, _ func()) error { return errors.ErrUnsupported }
func (noLocal) User() string                              { return "" }
