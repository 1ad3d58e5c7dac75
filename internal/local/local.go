// Package local holds what there is on this machine that talks over sockets and ports, as far as
// the operating system tells.
package local

// Process is the owner of a socket or a port.
type Process struct {
	PID  int    `json:"pid,omitempty"`  // 0: unknown
	UID  string `json:"uid,omitempty"`  // the user (Linux, macOS: decimal uid; Windows: SID); "": unknown
	Name string `json:"name,omitempty"` // short name of the program, chosen by itself, for people; "": unknown
}

// Lineage tells how a process is related to others: several processes may be one client.
type Lineage struct {
	Exe     string // path of the executable; "": unknown
	Parents []int  // the parent, its parent and so on, as far as processes can be seen; nil: unknown
}

// Socket is a file (Windows: a named pipe) on which a client may listen.
type Socket struct {
	Path string `json:"path"`
	ID   string `json:"id,omitempty"` // differs after it was removed and made anew (Linux, macOS: dev:inode:ctime in ns); "": unknown
}

// Listener is a TCP port on which somebody accepts connections to 127.0.0.1.
type Listener struct {
	Port    int    `json:"port"`
	ID      uint64 `json:"id,omitempty"` // differs after its owner has opened the port anew (Linux: the socket's inode); 0: unknown
	Process        // who opened it
}
