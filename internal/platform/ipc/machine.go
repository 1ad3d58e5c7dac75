package ipc

import (
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"

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

// HidesListeners reports whether a port may have a listener that Listeners leaves out. Windows lists none that it relays to a Linux of its
// own, and Wine none of the system around it.
func (Machine) HidesListeners() bool { return runtime.GOOS == "windows" }

// User is the user under which this process runs, in the form of Process.UID; "": unknown.
func (Machine) User() string { return session.User() }
