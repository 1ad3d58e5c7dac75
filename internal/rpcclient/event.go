package rpcclient

import "errors"

// Event is something that happens with clients, for those who count.
type Event string

// The events. Each is told with the transport over which it happens.
const (
	Connected         Event = "connected"          // a client has greeted for the first time since it started
	Reconnected       Event = "reconnected"        // it has greeted before
	ConnectionRefused Event = "connection refused" // by a client that says why
	ListRefused       Event = "list refused"       // it is sent again
	TokenAwaited      Event = "token awaited"      // a connection or a list has to wait for the client's rate limit
)

// countRefusal tells of a connection that a client has refused.
func (c *Client) countRefusal(over Transport, err error) {
	if errors.Is(err, &refusalError{Phase: phaseConnect}) {
		c.opts().OnEvent(ConnectionRefused, over)
	}
}

// connectEvent is the event of a session that begins.
func (p *peer) connectEvent() Event {
	if p.hasGreeted {
		return Reconnected
	}
	p.hasGreeted = true
	return Connected
}
