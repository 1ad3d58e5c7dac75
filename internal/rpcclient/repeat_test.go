package rpcclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/session"
)

func TestRepeat(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{})
		opts := quick(s.Port())
		opts.Transports = only(WebSocket)
		h := m.start(opts)
		h.publish(devices.True)
		has(t, s, devices.True)
		eventually(t, "delivered", func() bool { return len(h.delivered()) == 1 })
		h.Repeat()
		eventually(t, "delivered again", func() bool { return len(h.delivered()) == 2 })
		require.Len(t, s.Payloads(), 2)
	})
}

// TestRepeatSpares those whom it would cost a token, and those who are waited for.
func TestRepeatSpares(t *testing.T) {
	t.Parallel()
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
		p := &peer{outbox: session.NewOutbox(), status: Session{State: c.state, Address: Address{Transport: c.transport}}}
		client.peers = []*peer{p}
		client.Repeat()
		_, _, again, _ := p.outbox.Take()
		require.Equal(t, c.want, again, "%s over %s", c.state, c.transport)
	}
}

// A client that was frozen may take the list of another application after the one that was repeated because of it.
func TestRepeatToAFrozenClientGoesOnceMore(t *testing.T) {
	t.Parallel()
	for frozen, want := range map[time.Duration]int{0: 2, time.Second: 3, 20 * time.Second: 3} {
		t.Run(frozen.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				process := v.program(100)
				s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
				h := v.reporting(Options{Transports: only(IPC)}, devices.True, time.Second)
				require.Len(t, s.Payloads(), 1)
				process.Freeze()
				h.Repeat()
				pass(frozen)
				process.Thaw()
				pass(time.Minute)
				require.Len(t, s.Payloads(), want, "frozen for %s", frozen)
			})
		})
	}
}
