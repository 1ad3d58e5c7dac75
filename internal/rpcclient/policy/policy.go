// Package policy has the words and the defaults of the settings that say how clients are chosen, talked to and left. A leaf.
package policy

import "time"

// Selection says whom to report to.
type Selection string

// The choices (rules R3, R5).
const (
	AllClients  Selection = "all"   // every client that runs
	FirstClient Selection = "first" // the first that connects, for as long as it runs
)

// Enum lists the choices.
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

// Transports are all of them, best first: only the first reports in real time to the
// client that users run (rule R68). One that the client refuses gives way to the next.
var Transports = []Transport{IPC, WebSocket, HTTP}

// Exit says what an orderly end leaves in the client (rule R53).
type Exit string

// The policies.
const (
	ExitClear  Exit = "clear"  // nothing: an empty list
	ExitUnmute Exit = "unmute" // the devices, and no word about their mute
	ExitLeave  Exit = "leave"  // everything as it is
)

// Enum lists the policies.
func (Exit) Enum() []string {
	return []string{string(ExitClear), string(ExitUnmute), string(ExitLeave)}
}

// What the protocol suggests.
const (
	ProbeTimeout  = time.Second
	AnswerTimeout = 5 * time.Second
	HTTPTimeout   = 90 * time.Second
	Tokens        = 2
	TokenEvery    = 30 * time.Second
	RetryMax      = 5 * time.Second
)
