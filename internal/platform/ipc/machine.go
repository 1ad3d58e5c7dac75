package ipc

import (
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"

	"sidetone/internal/platform/session"
)

// Machine answers questions about the sockets and ports of this machine, as rpcclient.Local asks them. Machines with equal folders and
// logs are equal.
type Machine struct {
	folders string // of clients' sockets, joined as the system joins path lists
	log     *slog.Logger
}

// NewMachine returns a Machine that looks for clients' sockets in the given folders, in that order.
func NewMachine(folders []string, log *slog.Logger) Machine {
	return Machine{strings.Join(folders, string(filepath.ListSeparator)), log}
}

func (m Machine) list() []string { return filepath.SplitList(m.folders) }

// HidesListeners reports whether Listeners may miss the listener of a port. Windows lists none that it relays to its Linux subsystem, and
// Wine none of the host.
func (Machine) HidesListeners() bool { return runtime.GOOS == "windows" }

// User returns the user of this process, in the form of Process.UID; "" if unknown.
func (Machine) User() string { return session.User() }
