package rpcclient

import (
	"fmt"
	"time"
)

// State is what a session is doing.
type State string

// The states, the best first.
const (
	Ready       State = "ready"       // the client has the list and learns of changes at once
	Degraded    State = "degraded"    // the same over HTTP, where the client takes an update every 30 s (rule R67)
	Connecting  State = "connecting"  // a client was found, no list delivered yet
	Unsupported State = "unsupported" // the client greets and never answers the command (rule R13)
	Refused     State = "refused"     // the client refuses, see Error and Remedy
	Foreign     State = "foreign"     // the client belongs to another user and gets nothing (rule R6)
	Waiting     State = "waiting"     // another client is served, or it may be the same one
	Searching   State = "searching"   // no client found
	Stopped     State = "stopped"
)

// states is the order of preference.
var states = []State{Ready, Degraded, Connecting, Unsupported, Refused, Foreign, Waiting}

// Address says which client a session talks to, and how.
type Address struct {
	Transport Transport `json:"transport,omitempty"`
	Socket    string    `json:"socket,omitempty"` // path, over IPC
	Port      int       `json:"port,omitempty"`   // over the other transports
	PID       int       `json:"pid,omitempty"`    // of the client, where the system tells
	Name      string    `json:"name,omitempty"`   // of its program, where the system tells
}

// String is the address for people, such as "Discord (pid 4711) over ipc /run/user/1000/discord-ipc-0".
func (a Address) String() string {
	who := "a client"
	if a.Name != "" {
		who = a.Name
	}
	if a.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", a.PID)
	}
	switch {
	case a.Socket != "":
		return fmt.Sprintf("%s over %s %s", who, IPC, a.Socket)
	case a.Transport == "":
		return fmt.Sprintf("%s on port %d", who, a.Port)
	default:
		return fmt.Sprintf("%s over %s on port %d", who, a.Transport, a.Port)
	}
}

// Session is the present state of the conversation with one client.
type Session struct {
	State State `json:"state"`
	Address
	Generation uint64    `json:"generation,omitempty"` // last one delivered
	Delivered  time.Time `json:"delivered,omitzero"`   // when
	Devices    int       `json:"devices"`              // how many the client has
	NextTry    time.Time `json:"next_try,omitzero"`    // when something is tried again, or may be sent again, by itself
	Error      string    `json:"error,omitempty"`      // the last thing that went wrong
	Remedy     string    `json:"remedy,omitempty"`     // what a person can do about it
}

// Status is the present state of everything that is known of clients.
type Status struct {
	State    State     `json:"state"`             // of the best session; Searching without any
	Sessions []Session `json:"sessions"`          // one for each client, in the order in which they are preferred
	Notes    []string  `json:"notes,omitempty"`   // what stands where a client might be
	NextTry  time.Time `json:"next_try,omitzero"` // of the next search
	Error    string    `json:"error,omitempty"`   // why there is no session
	Remedy   string    `json:"remedy,omitempty"`  // what a person can do about it
}

// Connected reports whether any client has the list.
func (s Status) Connected() bool { return s.State == Ready || s.State == Degraded }
