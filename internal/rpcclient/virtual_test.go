package rpcclient

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/memnet"
)

const (
	someUser = "1000"
	ipcDir   = "/run"
)

// virtual is a machine in memory and in virtual time, on which an agent runs.
type virtual struct {
	*memnet.Network
	t  *testing.T
	me *memnet.Process

	mu       sync.Mutex
	hidden   []int           // ports of which nobody knows whose they are
	lineages map[int]Lineage // by pid
	looks    int
}

// inVirtualTime runs f on such a machine.
func inVirtualTime(t *testing.T, f func(t *testing.T, v *virtual)) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(memnet.Options{})
		f(t, &virtual{Network: n, t: t, me: n.Process(memnet.Owner{PID: 1, UID: someUser, Name: "sidetone"}), lineages: map[int]Lineage{}})
	})
}

func (v *virtual) Sockets() (list []Socket, _ []string) {
	v.mu.Lock()
	v.looks++
	v.mu.Unlock()
	for _, s := range v.Network.Sockets() {
		list = append(list, Socket(s))
	}
	return list, nil
}

func (v *virtual) Dial(ctx context.Context, path string) (net.Conn, Process, error) {
	c, o, err := v.me.DialIPC(ctx, path)
	return c, Process(o), err
}

func (v *virtual) Listeners(ports []int) (list []Listener, _ error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range v.Ports(ports) {
		l := Listener{Port: p.Port, ID: p.ID, Process: Process(p.Owner)}
		if slices.Contains(v.hidden, p.Port) {
			l.Process = Process{UID: someUser}
		}
		list = append(list, l)
	}
	return list, nil
}

func (v *virtual) Identify([]Listener) {}
func (v *virtual) User() string        { return someUser }

func (v *virtual) LineageOf(pid int) Lineage {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lineages[pid]
}

func (v *virtual) Watch(ctx context.Context, notify func()) error {
	v.Network.Watch(ctx, notify)
	return nil
}

// looked counts the looks at sockets so far: each is a wake-up.
func (v *virtual) looked() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.looks
}

// program starts one.
func (v *virtual) program(pid int) *memnet.Process {
	return v.Process(memnet.Owner{PID: pid, UID: someUser, Name: "Discord"})
}

// client starts a client in a process.
func (v *virtual) client(p *memnet.Process, opts fakeserver.Options) *fakeserver.Server {
	v.t.Helper()
	opts.Network, opts.ClientIDs = p, []string{clientID}
	if opts.Ports == nil {
		opts.Ports = []int{6463}
	}
	s, err := fakeserver.Start(opts)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { s.Close() })
	return s
}

// agent starts one with the times of DefaultOptions.
func (v *virtual) agent(opts Options) *harness {
	v.t.Helper()
	h := &harness{t: v.t}
	opts = v.complete(h, opts)
	h.Client = New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	h.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	v.t.Cleanup(h.stop)
	return h
}

// complete says where the agent is.
func (v *virtual) complete(h *harness, opts Options) Options {
	opts.ClientID, opts.Local, opts.DialPort = clientID, v, v.me.DialPort
	opts.Log = slog.New(slog.NewTextHandler(v.t.Output(), nil))
	if opts.Ports == nil {
		opts.Ports = []int{6463, 6464, 6465}
	}
	opts.OnDelivery = func(d Delivery) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.deliveries = append(h.deliveries, d)
	}
	return opts
}

// pass lets time go by, and all that happens at its end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// mute is what a client holds of the headset's mute; Unknown also without the headset.
func mute(s *fakeserver.Server) devices.Tri {
	for _, d := range s.Devices() {
		if d.HardwareMute != nil {
			return devices.Of(*d.HardwareMute)
		}
	}
	return devices.Unknown
}

// page is a program on a port that answers each request as handle says, and remembers them.
type page struct {
	mu   sync.Mutex
	seen []string // method and path of each request; "upgrade" is the method of a WebSocket
}

// serve has the process listen on the port.
func (v *virtual) serve(p *memnet.Process, port int, handle func(c net.Conn, r *http.Request)) *page {
	v.t.Helper()
	l, _, err := p.ListenPort([]int{port})
	require.NoError(v.t, err)
	s := &page{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					body, err := io.ReadAll(req.Body)
					if err != nil {
						return
					}
					what := req.Method
					if req.Header.Get("Upgrade") != "" {
						what = "upgrade"
					}
					s.mu.Lock()
					s.seen = append(s.seen, what+" "+req.URL.Path)
					s.mu.Unlock()
					req.Header.Set("X-Nonce", nonceOf(body))
					handle(c, req)
				}
			})
		}
	})
	v.t.Cleanup(func() {
		p.Kill()
		wg.Wait()
	})
	return s
}

func (s *page) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func replyTo(c net.Conn, status, body string) {
	(&rawConn{Conn: c}).reply(status, jsonType, body)
}
