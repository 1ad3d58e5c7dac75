package world

import (
	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
)

// clientSpec is a program that a client might be, and how the OS shows it.
type clientSpec struct {
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

// visibility is what the OS tells the agent of others.
type visibility string

// What the OS may tell.
const (
	seesAll     visibility = ""          // sockets, ports, and whose they are
	seesUsers   visibility = "users"     // no processes, as from a PID namespace of one's own
	seesSockets visibility = "sockets"   // nothing of ports, as on Windows and macOS
	seesNothing visibility = "unwatched" // as SeesSockets, and nothing tells of new sockets
)

// reporting is how the agent reports.
type reporting struct {
	Visibility visibility           `json:"visibility,omitempty"`
	OnExit     rpcclient.ExitPolicy `json:"on_exit,omitempty"`
	Timing     int                  `json:"timing,omitempty"` // which of some settings of times; any two differ
	First      bool                 `json:"first,omitempty"`  // rpc.clients is first

	Without rpcclient.Transport `json:"without,omitempty"` // one that rpc.transports leaves out
}

// What happens to clients, and to what reports to them.
const (
	doClientStart   action = "start"   // it is started, or started again in order
	doClientStop    action = "stop"    // it ends in order
	doClientKill    action = "kill"    // it ends as by SIGKILL
	doClientMoves   action = "moves"   // it starts again in order, as the same process on another port
	doClientFreezes action = "freezes" // until it thaws
	doClientThaws   action = "thaws"
	doClientFault   action = "fault" // of fakeserver, until it is mended
	doClientMended  action = "mended"
	doClientDrops   action = "drops"     // all its connections
	doClientSpends  action = "spends"    // another agent spends one of its tokens for the same application
	doPublish       action = "publish"   // the agent has another list
	doConfigure     action = "configure" // the agent's settings change
	doResend        action = "resend"    // the machine has slept
	doStopAgent     action = "stop agent"
	doStartAgent    action = "start agent"
)
