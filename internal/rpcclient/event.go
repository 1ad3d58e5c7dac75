package rpcclient

import (
	"errors"

	"sidetone/internal/rpcclient/link"
)

// Event is something that happened with a client and is counted.
type Event string

// The events. Each is reported with its transport; the status of the local API has their names.
const (
	Delivered         Event = "delivered"          // a client has accepted a list; OnDelivery tells of these, not OnEvent
	Connected         Event = "connected"          // the first session with a client since it started
	Reconnected       Event = "reconnected"        // a further session with it
	ConnectionRefused Event = "connection_refused" // with a code that says why
	ListRefused       Event = "list_refused"       // it is sent again
	TokenAwaited      Event = "token_awaited"      // a connection or a list has to wait for the client's rate limit
)

// countRefusal reports ConnectionRefused if err says so.
func (c *Client) countRefusal(over Transport, err error) {
	if errors.Is(err, &link.Refusal{Phase: link.PhaseConnect}) {
		c.opts().OnEvent(ConnectionRefused, over)
	}
}
