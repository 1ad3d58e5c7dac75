package link

import (
	"encoding/json"
	"fmt"
)

// maxAnswer bounds one message of the server, in bytes: an answer is some hundred bytes.
const maxAnswer = 1 << 20

// message is anything the server says: an answer, or an event such as READY.
type message struct {
	Cmd   string          `json:"cmd"`
	Evt   string          `json:"evt"`
	Nonce string          `json:"nonce"`
	Data  json.RawMessage `json:"data"`
	Args  json.RawMessage `json:"args"` // commands have it, answers have not
}

// fault is the data of an ERROR event and the body of an HTTP 400.
type fault struct {
	Code    *int   `json:"code"`
	Message string `json:"message"`
}

func parseMessage(b []byte) (message, error) {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return message{}, fmt.Errorf("%w: not an RPC message: %w", ErrNotRPC, err)
	}
	return m, nil
}

// ready reports whether m is the server's greeting (rule R17).
func (m message) ready() bool { return m.Cmd == "DISPATCH" && m.Evt == "READY" }

// answers reports whether m is the answer to the command with this nonce, and not, for instance,
// its echo.
func (m message) answers(nonce string) bool {
	return m.Nonce == nonce && m.Args == nil && (m.Cmd == command || m.Evt == "ERROR")
}

// result is nil when m says that the command was accepted, and the typed error when not. An
// HTTP 200 or an answer in time proves nothing by itself: failures come the same way (rule R42).
func (m message) result() error {
	if m.Evt != "ERROR" {
		return nil
	}
	var f fault
	if err := json.Unmarshal(m.Data, &f); err != nil || f.Code == nil {
		return &Refusal{Phase: PhaseCommand, Message: "an error without a code"}
	}
	return &Refusal{Phase: PhaseCommand, Code: *f.Code, Message: f.Message}
}
