package rpcclient

import (
	"fmt"
	"time"

	"sidetone/internal/health"
)

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
	Generation uint64            `json:"generation,omitempty"` // last one delivered
	Delivered  time.Time         `json:"delivered,omitzero"`   // when
	Devices    int               `json:"devices"`              // how many the client has
	Since      time.Time         `json:"since,omitzero"`       // Slow: since when an answer is overdue
	Pending    uint64            `json:"pending,omitempty"`    // generation that was sent and not answered: the client may have it instead
	Muted      []string          `json:"muted,omitempty"`      // Slow: microphones that the client may take for muted, by id
	NextTry    time.Time         `json:"next_try,omitzero"`    // when something is tried again, or may be sent again, by itself
	Error      string            `json:"error,omitempty"`      // the last thing that went wrong
	Reason     *health.Condition `json:"reason,omitempty"`     // behind Error, or what to know beside it
}

// Status is the present state of everything that is known of clients.
type Status struct {
	State    State              `json:"state"`             // of the best session; Searching without any
	Sessions []Session          `json:"sessions"`          // one for each client, in the order in which they are preferred
	Notes    []health.Condition `json:"notes,omitempty"`   // what stands where a client might be, and that nothing tells of new ones
	NextTry  time.Time          `json:"next_try,omitzero"` // of the next search
	Error    string             `json:"error,omitempty"`   // why there is no session
	Reason   *health.Condition  `json:"reason,omitempty"`  // behind Error
}

// Connected reports whether any client has the list.
func (s Status) Connected() bool { return s.State == Ready || s.State == Degraded }

// Remedy is what a person can do, in English.
func (s Session) Remedy() string { return remedyOf(s.Reason) }

// Remedy is what a person can do, in English.
func (s Status) Remedy() string { return remedyOf(s.Reason) }

func remedyOf(reason *health.Condition) string {
	if reason == nil {
		return ""
	}
	return health.English.Advice(*reason)
}
