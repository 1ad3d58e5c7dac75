package rpcclient

// Repeat sends the whole list once more over the connections on which that costs no token, IPC and
// WebSocket, because another application's list may have taken devices of it away. One that is on
// its way goes once more: which came first is not known. Clients that were given up stay so, and what
// was refused goes on waiting for its next try.
func (c *Client) Repeat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		if p.status.Transport != HTTP && p.status.State != Refused {
			p.mailbox.askRepeat()
		}
	}
}
