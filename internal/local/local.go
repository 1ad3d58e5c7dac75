// Package local describes processes, sockets and listeners of this machine, as the operating system
// reports them.
package local

// Process is the owner of a socket or a port.
type Process struct {
	PID  int    `json:"pid,omitempty"`  // 0: unknown
	UID  string `json:"uid,omitempty"`  // the user (Linux, macOS: decimal uid; Windows: SID); "": unknown
	Name string `json:"name,omitempty"` // short name that the program chose for itself, for display only; "": unknown

	// Denied means that the system does not let this user see the owner, as on Windows if that runs as administrator or as another user.
	Denied bool `json:"denied,omitempty"`
	// OtherSession means that it runs in another log-in session than this process, of this user or another one.
	OtherSession bool `json:"other_session,omitempty"`
}

// Lineage relates a process to others, because one client may have several processes.
type Lineage struct {
	Started uint64 // when it was started, in ticks since a moment that is fixed while the machine runs; 0: unknown
	Exe     string // path of the executable; "": unknown
	Parents []int  // parent, grandparent and so on, as far as they are visible; nil: unknown

	// Starters are the nearest of its Parents that start one application, such as the script of a package. It ends before the first one
	// that starts any: a desktop's panel, an interactive shell, a session's leader or manager.
	Starters []int
	// Bundle identifies what was started as one application: a sandbox, or the application's own scope of the session manager;
	// "": none, or unknown.
	Bundle string
}

// Socket is a file (Windows: a named pipe) on which a client may listen.
type Socket struct {
	Path string `json:"path"`
	ID   string `json:"id,omitempty"` // differs when the socket was created anew (Linux, macOS: dev:inode:ctime in ns); "": unknown
}

// Listener is a TCP port on which a process accepts connections to 127.0.0.1.
type Listener struct {
	Port    int    `json:"port"`
	ID      uint64 `json:"id,omitempty"` // differs when the port was opened anew (Linux: the socket's inode); 0: unknown
	Process        // the owner
}
