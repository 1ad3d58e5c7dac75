package world

import (
	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
)

// ClientSpec is a program that a client might be, and how the OS shows it.
type ClientSpec struct {
	Profile     fakeserver.Profile `json:"profile"`
	Foreign     bool               `json:"foreign,omitempty"`     // it is another user's
	Hidden      bool               `json:"hidden,omitempty"`      // nobody is told its process, only its user
	Relay       bool               `json:"relay,omitempty"`       // another process holds its port
	Shares      bool               `json:"shares,omitempty"`      // it is part of the process of the client before
	NoSocket    bool               `json:"no_socket,omitempty"`   // it is there over its port only
	NoPort      bool               `json:"no_port,omitempty"`     // it is there over its socket only
	PortLate    int                `json:"port_late,omitempty"`   // ms from its start to its port
	SocketLate  int                `json:"socket_late,omitempty"` // ms from its start to its socket
	SlowGet     bool               `json:"slow_get,omitempty"`    // it answers GET after 600 ms
	Unspecified bool               `json:"unspecified,omitempty"` // it answers GET in its own way
	Off         bool               `json:"off,omitempty"`         // it does not run at the beginning
	Fault       string             `json:"fault,omitempty"`       // which it has when it is first started, as fakeserver writes it
}

// Sight is what the OS tells the agent of others.
type Sight string

// The sights.
const (
	SeesAll     Sight = ""          // sockets, ports, and whose they are
	SeesUsers   Sight = "users"     // no processes, as from a PID namespace of one's own
	SeesSockets Sight = "sockets"   // nothing of ports, as on Windows and macOS
	SeesNothing Sight = "unwatched" // as SeesSockets, and nothing tells of new sockets
)

// Reporting is how the agent reports.
type Reporting struct {
	Sight  Sight                `json:"sight,omitempty"`
	OnExit rpcclient.ExitPolicy `json:"on_exit,omitempty"`
	Timing int                  `json:"timing,omitempty"` // which of some settings of times; any two differ
	First  bool                 `json:"first,omitempty"`  // rpc.clients is first

	Without rpcclient.Transport `json:"without,omitempty"` // one that rpc.transports leaves out
}

// What happens to clients, and to what reports to them.
const (
	ClientStart   Deed = "start"   // it is started, or started again in order
	ClientStop    Deed = "stop"    // it ends in order
	ClientKill    Deed = "kill"    // it ends as by SIGKILL
	ClientMoves   Deed = "moves"   // it starts again in order, as the same process on another port
	ClientFreezes Deed = "freezes" // until it thaws
	ClientThaws   Deed = "thaws"
	ClientFault   Deed = "fault" // of fakeserver, until it is mended
	ClientMended  Deed = "mended"
	ClientDrops   Deed = "drops"     // all its connections
	ClientSpends  Deed = "spends"    // another agent spends one of its tokens for the same application
	Publish       Deed = "publish"   // the agent has another list
	Configure     Deed = "configure" // the agent's settings change
	Resend        Deed = "resend"    // the machine has slept
	StopAgent     Deed = "stop agent"
	StartAgent    Deed = "start agent"
)
