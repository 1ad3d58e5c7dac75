// Package policy has the values and defaults of the settings for clients: which ones are served, over which transports, and what an
// orderly stop leaves in them. It imports nothing of this module.
package policy

import "time"

// Selection says which clients to report to (rules R3, R5).
type Selection string

// The selections.
const (
	AllClients  Selection = "all"   // every running client
	FirstClient Selection = "first" // the first one that can be connected to, until it ends
)

// Enum lists the selections.
func (Selection) Enum() []string { return []string{string(AllClients), string(FirstClient)} }

// Transport is a way to talk to a client.
type Transport string

// The transports (rules R7, R15, R23).
const (
	IPC       Transport = "ipc"
	WebSocket Transport = "websocket"
	HTTP      Transport = "http"
)

// Enum lists the transports.
func (Transport) Enum() []string { return []string{string(IPC), string(WebSocket), string(HTTP)} }

// Transports lists all transports, best first: only the first one reports in real time to the
// client that users run (rule R68). The next one is tried when the client refuses one.
var Transports = []Transport{IPC, WebSocket, HTTP}

// Exit says what an orderly stop leaves in the client (rule R53).
type Exit string

// The policies.
const (
	ExitClear  Exit = "clear"  // nothing: an empty list
	ExitUnmute Exit = "unmute" // the devices without their mutes
	ExitLeave  Exit = "leave"  // everything as it is
)

// Enum lists the policies.
func (Exit) Enum() []string {
	return []string{string(ExitClear), string(ExitUnmute), string(ExitLeave)}
}

// Defaults that follow from the protocol.
const (
	ProbeTimeout  = time.Second
	AnswerTimeout = 5 * time.Second
	HTTPTimeout   = 90 * time.Second
	Tokens        = 2
	TokenEvery    = 30 * time.Second
	RetryMax      = 5 * time.Second
)
