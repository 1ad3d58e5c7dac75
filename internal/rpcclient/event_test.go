package rpcclient

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// eventCounts counts what a Client tells of.
type eventCounts struct {
	mu sync.Mutex
	of map[Event]map[Transport]int
}

func (n *eventCounts) count(e Event, over Transport) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = make(map[Event]map[Transport]int)
	}
	if n.of[e] == nil {
		n.of[e] = make(map[Transport]int)
	}
	n.of[e][over]++
}

func (n *eventCounts) all() map[Event]map[Transport]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of
}

// TestAClientThatMayHaveRestartedIsNotSaidToBeReconnectedTo where the system does not tell a restart.
func TestAClientThatMayHaveRestartedIsNotSaidToBeReconnectedTo(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.alike = true
		var seen eventCounts
		h := v.start(Options{OnEvent: seen.count, Transports: only(WebSocket)})
		h.publish(devices.True)
		for range 2 {
			process := v.program(100)
			v.client(process, fakeserver.Options{Profile: fakeserver.Documented})
			pass(10 * time.Second)
			process.Kill() // the next one has the port before anybody looks
		}
		require.Equal(t, map[Event]map[Transport]int{Connected: {WebSocket: 2}}, seen.all())
	})
}

func TestEvents(t *testing.T) {
	t.Parallel()
	type counts = map[Event]map[Transport]int
	for name, c := range map[string]struct {
		client fakeserver.Options
		rpc    Options
		run    func(h *harness, s *fakeserver.Server)
		want   counts
	}{
		"a list that is refused": {
			client: fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Fault: fakeserver.Fault{Kind: fakeserver.FaultError, Code: 4000, Times: 1}},
			run:    func(*harness, *fakeserver.Server) {},
			want:   counts{Connected: {IPC: 1}, ListRefused: {IPC: 1}},
		},
		"a link that breaks": {
			client: fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir},
			run: func(h *harness, s *fakeserver.Server) {
				require.NoError(h.t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultDie, Times: 1}))
				h.publish(devices.False)
			},
			want: counts{Connected: {IPC: 1}, Reconnected: {IPC: 1}},
		},
		"a client that refuses the WebSocket and has few tokens": {
			client: fakeserver.Options{Profile: fakeserver.Desktop},
			rpc:    Options{Origin: "https://acme.example"},
			run:    func(h *harness, _ *fakeserver.Server) { h.publish(devices.False) },
			want:   counts{ConnectionRefused: {WebSocket: 1}, Connected: {HTTP: 1}, TokenAwaited: {HTTP: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), c.client)
				var seen eventCounts
				c.rpc.OnEvent = seen.count
				h := v.reporting(c.rpc, devices.True, 3*time.Second)
				c.run(h, s)
				pass(3 * time.Second)
				require.Equal(t, c.want, seen.all())
			})
		})
	}
}
