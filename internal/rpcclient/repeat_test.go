package rpcclient

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

func TestRepeat(t *testing.T) {
	s := serve(t, fakeserver.Options{})
	opts := quick(s.Port())
	opts.Transports = only(WebSocket)
	h := start(t, opts)
	h.publish(devices.True)
	has(t, s, devices.True)
	eventually(t, "delivered", func() bool { return len(h.delivered()) == 1 })
	h.Repeat()
	eventually(t, "delivered again", func() bool { return len(h.delivered()) == 2 })
	require.Len(t, s.Payloads(), 2)
}

// TestRepeatSpares those whom it would cost a token, and those who are waited for.
func TestRepeatSpares(t *testing.T) {
	for _, c := range []struct {
		state     State
		transport Transport
		want      bool
	}{
		{Ready, IPC, true},
		{Ready, WebSocket, true},
		{Ready, HTTP, false},
		{Degraded, HTTP, false},
		{Refused, IPC, false},
		{Refused, WebSocket, false},
		{Connecting, IPC, true}, // its list may be there, and the answer not yet
		{Slow, WebSocket, true},
	} {
		client := New(quick())
		p := &peer{box: newMailbox(), status: Session{State: c.state, Address: Address{Transport: c.transport}}}
		client.peers = []*peer{p}
		client.Repeat()
		_, _, again := p.box.take()
		require.Equal(t, c.want, again, "%s over %s", c.state, c.transport)
	}
}
