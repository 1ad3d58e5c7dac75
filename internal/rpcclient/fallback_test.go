package rpcclient

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// TestATransportThatWorkedIsNotGivenUp for one list without an answer, as when the client was
// frozen for a while: over HTTP the client would get its lists far later, for as long as it runs.
func TestATransportThatWorkedIsNotGivenUp(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"1*websocket/no-answer", "1*websocket/error=4006", "1*websocket/bad-json"} {
		t.Run(fault, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{})
				opts := quick(s.Port())
				opts.Origin = origin
				h := m.start(opts)
				h.publish(devices.False)
				has(t, s, devices.False)
				eventually(t, "delivered", func() bool { return len(h.delivered()) == 1 })
				f, err := fakeserver.ParseFault(fault)
				require.NoError(t, err)
				require.NoError(t, s.SetFault(f))
				h.publish(devices.True)
				eventually(t, "delivered again", func() bool { return len(h.delivered()) == 2 })
				has(t, s, devices.True)
				require.Equal(t, WebSocket, h.delivered()[1].To.Transport)
				require.True(t, h.delivered()[1].First)
			})
		})
	}
}
