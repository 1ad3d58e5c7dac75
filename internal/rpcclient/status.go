package rpcclient

import (
	"cmp"
	"fmt"
	"time"

	"sidetone/internal/health"
)

// Address identifies a client and the way to it.
type Address struct {
	Transport Transport `json:"transport,omitempty"`
	Socket    string    `json:"socket,omitempty"` // path, over IPC
	Port      int       `json:"port,omitempty"`   // over the other transports
	PID       int       `json:"pid,omitempty"`    // of the client, where the system tells
	Name      string    `json:"name,omitempty"`   // of its program, where the system tells
}

// String returns the address for people, such as "Discord (pid 4711) over ipc /run/user/1000/discord-ipc-0".
func (a Address) String() string {
	who := cmp.Or(a.Name, "a client")
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
	Generation uint64            `json:"generation,omitempty"` // of the last list delivered
	Delivered  time.Time         `json:"delivered,omitzero"`   // when that was
	Devices    int               `json:"devices"`              // how many that list had
	Since      time.Time         `json:"since,omitzero"`       // Slow: since when an answer is overdue
	Pending    uint64            `json:"pending,omitempty"`    // Slow: generation that was sent and not answered, which the client may hold
	Muted      []string          `json:"muted,omitempty"`      // Slow, Refused: ids of microphones that the client may take for muted
	Missing    []string          `json:"missing,omitempty"`    // Refused: ids of microphones of the newest list that it does not get
	NextTry    time.Time         `json:"next_try,omitzero"`    // when the next attempt starts, or the next list may be sent
	Error      string            `json:"error,omitempty"`      // the last thing that went wrong
	Reason     *health.Condition `json:"reason,omitempty"`     // Error as a condition, or one that is no error
}

// Status is the present state of all sessions and of the search for clients.
type Status struct {
	State    State              `json:"state"`             // of the best session; Searching without any
	Sessions []Session          `json:"sessions"`          // one for each client, preferred clients first
	Notes    []health.Condition `json:"notes,omitempty"`   // other programs where a client might be, and that new clients are not announced
	NextTry  time.Time          `json:"next_try,omitzero"` // of the next search
	Error    string             `json:"error,omitempty"`   // why there is no session
	Reason   *health.Condition  `json:"reason,omitempty"`  // Error as a condition
}

// Connected reports whether any client has the list.
func (s Status) Connected() bool { return s.State == Ready || s.State == Degraded }

// remedyOf returns what the user can do, in English; "": nothing.
func remedyOf(reason *health.Condition) string {
	if reason == nil {
		return ""
	}
	return health.English.Advice(*reason)
}
