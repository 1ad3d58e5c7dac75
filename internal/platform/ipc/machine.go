package ipc

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/platform/session"
)

// Machine is what the operating system knows of the sockets and ports of this machine, in the form that
// rpcclient asks for (rpcclient.Local). Machines of equal folders and logs are equal.
type Machine struct {
	folders string // of clients' sockets, as a list of the system's kind
	log     *slog.Logger
}

// NewMachine looks for clients' sockets in the given folders, in their order.
func NewMachine(folders []string, log *slog.Logger) Machine {
	return Machine{strings.Join(folders, string(filepath.ListSeparator)), log}
}

func (m Machine) list() []string { return filepath.SplitList(m.folders) }

// Sockets is IPCSockets.
func (m Machine) Sockets() ([]local.Socket, []health.Condition) { return Sockets(m.list()) }

// Dial is Dial.
func (m Machine) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	return Dial(ctx, path)
}

// Listeners is the function of that name.
func (m Machine) Listeners(ports []int) ([]local.Listener, error) { return Listeners(ports) }

// Identify is the function of that name.
func (m Machine) Identify(list []local.Listener) { Identify(list) }

// LineageOf is the function of that name.
func (m Machine) LineageOf(pid int) local.Lineage { return LineageOf(pid) }

// Watch is Watch.
func (m Machine) Watch(ctx context.Context, notify func()) error {
	return Watch(ctx, m.list(), m.log, notify)
}

// User is session.User.
func (m Machine) User() string { return session.User() }
