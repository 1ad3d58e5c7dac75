// Package local describes processes, sockets and listeners of this machine, as the operating system
// reports them.
package local

// Process is the owner of a socket or a port.
type Process struct {
	PID  int    `json:"pid,omitempty"`  // 0: unknown
	UID  string `json:"uid,omitempty"`  // the user (Linux, macOS: decimal uid; Windows: SID); "": unknown
	Name string `json:"name,omitempty"` // short name that the program chose for itself, for display only; "": unknown

	// Denied: the system does not let this user see whose it is. On Windows a process that runs as administrator is so, or another user's.
	Denied bool `json:"denied,omitempty"`
	// OtherSession: it runs in another log-in session than this process, of this user or another one.
	OtherSession bool `json:"other_session,omitempty"`
}

// Lineage relates a process to others: several processes may be one client.
type Lineage struct {
	Exe     string // path of the executable; "": unknown
	Parents []int  // parent, grandparent and so on, as far as they are visible; nil: unknown
}

// Socket is a file (Windows: a named pipe) on which a client may listen.
type Socket struct {
	Path string `json:"path"`
	ID   string `json:"id,omitempty"` // changes when it is removed and created again (Linux, macOS: dev:inode:ctime in ns); "": unknown
}

// Listener is a TCP port on which a process accepts connections to 127.0.0.1.
type Listener struct {
	Port    int    `json:"port"`
	ID      uint64 `json:"id,omitempty"` // changes when the owner opens the port again (Linux: the socket's inode); 0: unknown
	Process        // the owner
}
