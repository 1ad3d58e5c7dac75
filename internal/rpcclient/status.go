package rpcclient

import "time"

// State is what a session is doing.
type State string

// The states.
const (
	Searching  State = "searching"  // no client found yet
	Connecting State = "connecting" // a client was found, no list delivered yet
	Ready      State = "ready"      // the client has the list
	Refused    State = "refused"    // the client refuses, see Error and Remedy
	Stopped    State = "stopped"
)

// Status is the present state of the conversation with the client.
type Status struct {
	State      State     `json:"state"`
	Transport  Transport `json:"transport,omitempty"`
	Port       int       `json:"port,omitempty"`
	Generation uint64    `json:"generation,omitempty"` // last one delivered
	Delivered  time.Time `json:"delivered,omitzero"`   // when
	Devices    int       `json:"devices"`              // how many the client has
	NextTry    time.Time `json:"next_try,omitzero"`    // when something is tried again by itself
	Error      string    `json:"error,omitempty"`      // the last thing that went wrong
	Remedy     string    `json:"remedy,omitempty"`     // what a person can do about it
}
