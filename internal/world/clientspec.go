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

// Visibility is what the OS tells the agent of others.
type Visibility string

// What the OS may tell.
const (
	SeesAll     Visibility = ""          // sockets, ports, and whose they are
	SeesUsers   Visibility = "users"     // no processes, as from a PID namespace of one's own
	SeesSockets Visibility = "sockets"   // nothing of ports, as on Windows and macOS
	SeesNothing Visibility = "unwatched" // as SeesSockets, and nothing tells of new sockets
)

// Reporting is how the agent reports.
type Reporting struct {
	Visibility Visibility           `json:"visibility,omitempty"`
	OnExit     rpcclient.ExitPolicy `json:"on_exit,omitempty"`
	Timing     int                  `json:"timing,omitempty"` // which of some settings of times; any two differ
	First      bool                 `json:"first,omitempty"`  // rpc.clients is first

	Without rpcclient.Transport `json:"without,omitempty"` // one that rpc.transports leaves out
}

// What happens to clients, and to what reports to them.
const (
	ClientStart   Action = "start"   // it is started, or started again in order
	ClientStop    Action = "stop"    // it ends in order
	ClientKill    Action = "kill"    // it ends as by SIGKILL
	ClientMoves   Action = "moves"   // it starts again in order, as the same process on another port
	ClientFreezes Action = "freezes" // until it thaws
	ClientThaws   Action = "thaws"
	ClientFault   Action = "fault" // of fakeserver, until it is mended
	ClientMended  Action = "mended"
	ClientDrops   Action = "drops"     // all its connections
	ClientSpends  Action = "spends"    // another agent spends one of its tokens for the same application
	Publish       Action = "publish"   // the agent has another list
	Configure     Action = "configure" // the agent's settings change
	Resend        Action = "resend"    // the machine has slept
	StopAgent     Action = "stop agent"
	StartAgent    Action = "start agent"
)
