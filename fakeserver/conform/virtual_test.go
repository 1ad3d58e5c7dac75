package conform

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// A memory is a network that exists in this process only, so that a run at the
// real client's pace takes no time.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener
}

const (
	memoryPort = "127.0.0.1:6463"
	memoryPipe = "/memory/discord-ipc-0"
)

func (m *memory) ListenPort([]int) (net.Listener, int, error) { return m.listen(memoryPort), 6463, nil }

func (m *memory) ListenIPC(string) (net.Listener, string, error) {
	return m.listen(memoryPipe), memoryPipe, nil
}
func (m *memory) ReopenIPC(path string) (net.Listener, error) { return m.listen(path), nil }

func (m *memory) listen(name string) net.Listener {
	ln := &memoryListener{backlog: make(chan net.Conn, 200), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listeners == nil {
		m.listeners = map[string]*memoryListener{}
	}
	m.listeners[name] = ln
	return ln
}

func (m *memory) Dial(_ context.Context, _, address string) (net.Conn, error) {
	m.mu.Lock()
	ln := m.listeners[address]
	m.mu.Unlock()
	if ln == nil {
		return nil, errors.New("refused")
	}
	ours, theirs := net.Pipe()
	ln.backlog <- theirs
	return ours, nil
}

type memoryListener struct {
	backlog chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

// At the real client's pace, the desktop profile does everything of it that can be
// seen from outside, and a run takes no longer than it announces.
func TestDesktopAtItsOwnPace(t *testing.T) {
	const origin = "https://acme.example"
	for name, target := range map[string]Target{
		"all":         {URL: "http://" + memoryPort, IPC: memoryPipe, Origin: origin},
		"without IPC": {URL: "http://" + memoryPort},
		"IPC alone":   {IPC: memoryPipe},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &memory{}
				srv, err := fakeserver.Start(fakeserver.Options{
					Profile: fakeserver.Desktop, Network: network, IPCDir: "/memory", Origins: []string{origin},
				})
				require.NoError(t, err)
				defer srv.Close()
				var announced time.Duration
				report, err := Run(t.Context(), target, Options{All: true, Dial: network.Dial, Progress: func(p Progress) {
					announced = max(announced, p.Remaining)
				}})
				require.NoError(t, err)
				for _, c := range report.Checks {
					switch {
					case c.ID == "http-half-close" && c.Why == "this network cannot do that":
					case c.ID == "ws-early-frame" && strings.HasPrefix(c.Why, "READY comes at once"):
					case c.Group == InWebSocket && c.Why == "no READY":
					default:
						require.Equal(t, Same, c.Client.Verdict, "%s: %s%s", c.ID, c.Got, c.Why)
					}
				}
				t.Log("announced", announced, "took", report.Took, "checks", len(report.Checks))
				require.LessOrEqual(t, report.Took, announced)
				require.Empty(t, srv.DevicesOf(ExampleClientID))
				require.Empty(t, report.Notes)
			})
		})
	}
}
