package world

import (
	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
)

// clientSpec is a program that may be a client, and what the OS shows of it.
type clientSpec struct {
	Profile     fakeserver.Profile `json:"profile"`
	Foreign     bool               `json:"foreign,omitempty" reduce:"empty"`      // it belongs to another user
	Hidden      bool               `json:"hidden,omitempty" reduce:"empty"`       // the OS shows only its user, not its process
	Relay       bool               `json:"relay,omitempty" reduce:"empty"`        // another process holds its port
	Sibling     bool               `json:"sibling,omitempty" reduce:"empty"`      // a script has started it and its relay, which accepts first
	Sandboxed   bool               `json:"sandboxed,omitempty" reduce:"empty"`    // its socket is that of a relay, which outlives it
	Shares      bool               `json:"shares,omitempty"`                      // it runs in the process of the client before it
	NoSocket    bool               `json:"no_socket,omitempty" reduce:"empty"`    // it has only a port
	NoPort      bool               `json:"no_port,omitempty" reduce:"empty"`      // it has only a socket
	PortLate    int                `json:"port_late,omitempty" reduce:"empty"`    // ms from its start until it opens its port
	SocketLate  int                `json:"socket_late,omitempty" reduce:"empty"`  // ms from its start until it opens its socket
	SlowGet     bool               `json:"slow_get,omitempty" reduce:"empty"`     // it answers GET after 600 ms
	Unspecified bool               `json:"unspecified,omitempty" reduce:"empty"`  // it answers GET in its own way
	Off         bool               `json:"off,omitempty" reduce:"empty"`          // it does not run at first
	RefusedText string             `json:"refused_text,omitempty" reduce:"empty"` // it refuses lists with a device whose JSON has this in it
	Most        int                `json:"most,omitempty" reduce:"empty"`         // it refuses lists of more devices; 0: none
	Fault       string             `json:"fault,omitempty" reduce:"empty"`        // at its first start, in the syntax of fakeserver
}

// visibility is what the OS shows the agent of other processes.
type visibility string

const (
	seesAll     visibility = ""          // sockets, ports and their owners
	seesUsers   visibility = "users"     // no processes, as in a PID namespace
	seesSockets visibility = "sockets"   // no ports, as on macOS
	seesNothing visibility = "unwatched" // no ports, and new sockets are not announced
)

// clientSettings is the agent's settings for clients.
type clientSettings struct {
	Visibility visibility           `json:"visibility,omitempty"`
	OnExit     rpcclient.ExitPolicy `json:"on_exit,omitempty"`
	Timing     int                  `json:"timing,omitempty"` // added to AnswerTimeout, in ms: any two settings differ
	First      bool                 `json:"first,omitempty"`  // rpc.clients is first

	Without rpcclient.Transport `json:"without,omitempty"` // one that rpc.transports leaves out
}

// What happens to clients and to the agent.
const (
	doClientStart   action = "start"   // it starts, or restarts in order
	doClientStop    action = "stop"    // it ends in order
	doClientKill    action = "kill"    // it ends as by SIGKILL
	doClientMoves   action = "moves"   // it restarts in order, as the same process on another port
	doClientFreezes action = "freezes" // until it thaws
	doClientThaws   action = "thaws"
	doClientFault   action = "fault" // of fakeserver, until it is mended
	doClientMended  action = "mended"
	doClientDrops   action = "drops"     // all its connections
	doClientSpends  action = "spends"    // another agent spends one of the tokens for this application
	doPublish       action = "publish"   // the agent publishes another list
	doConfigure     action = "configure" // the agent's settings change
	doResend        action = "resend"    // the machine has slept
	doStopAgent     action = "stop agent"
	doStartAgent    action = "start agent"
)
