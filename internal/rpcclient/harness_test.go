package rpcclient

import (
	"cmp"
	"context"
	"flag"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/rpcclient/link/linktest"
	"sidetone/internal/testlab/ipctest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // over sockets, tests wait about half of their time
	goleak.VerifyTestMain(m, ipctest.Kept)
}

const clientID = "123456789012345678"

// patience is how long a test waits for what must happen. It is no claim about speed.
const patience = 20 * time.Second

// harness is a Client that runs against fake servers.
type harness struct {
	*Client
	t          *testing.T
	stop       func()
	mu         sync.Mutex
	deliveries []Delivery
	generation uint64
}

// Status is that of the client; what it says is recorded for the test of all languages.
func (h *harness) Status() Status {
	st := h.Client.Status()
	said := slices.Clone(st.Notes)
	for _, s := range append(st.Sessions, Session{Reason: st.Reason}) {
		if s.Reason != nil {
			said = append(said, *s.Reason)
		}
	}
	healthtest.Raised(h.t, said...)
	return st
}

// origin has the WebSocket of a client tried that has the fingerprint.
const origin = "https://acme.example"

// quick are options whose deadlines suit tests of failures.
func quick(ports ...int) Options {
	return Options{
		ClientID: clientID, Ports: ports, Tokens: 1000,
		ProbeTimeout: 400 * time.Millisecond, AnswerTimeout: 400 * time.Millisecond,
		HTTPTimeout: 800 * time.Millisecond, RetryMax: 300 * time.Millisecond, RefusedWait: 300 * time.Millisecond,
	}
}

// quick are those of the package, where the clients are in memory. Over sockets, what takes time is this machine: there a deadline that
// passes would mean one more handshake or delivery, or another client's turn, of which no test there is about.
func (m *machine) quick(ports ...int) Options {
	opts := quick(ports...)
	if m.Network == nil {
		opts.ProbeTimeout, opts.AnswerTimeout, opts.HTTPTimeout, opts.StopTimeout = patience, patience, patience, patience
	}
	return opts
}

// all stands for every transport, the default.
const all Transport = ""

func only(t Transport) []Transport {
	if t == all {
		return nil
	}
	return []Transport{t}
}

// session is the state of the best client, or an empty one.
func (h *harness) session() Session {
	if s := h.Status().Sessions; len(s) > 0 {
		return s[0]
	}
	return Session{}
}

// connected reports whether a client has the list.
func (h *harness) connected() bool {
	return slices.Contains([]State{Ready, Degraded}, h.Status().State)
}

// searchesSeldom reports whether nothing is found any more by the quick search.
func (h *harness) searchesSeldom() bool {
	h.Client.mu.Lock()
	defer h.Client.mu.Unlock()
	return h.status.NextTry.IsZero() || time.Until(h.status.NextTry) > time.Second
}

// trouble is what the status says is wrong.
func (h *harness) trouble() string {
	st := h.Status()
	if len(st.Sessions) > 0 {
		return st.Sessions[0].Error
	}
	return st.Error
}

// start starts an agent.
func (m *machine) start(opts Options) *harness {
	m.t.Helper()
	h := &harness{t: m.t}
	h.Client = New(m.complete(h, opts))
	h.run()
	m.t.Cleanup(func() { h.stop() })
	return h
}

// reporting starts an agent that has a microphone to report, and lets time pass.
func (m *machine) reporting(opts Options, muted devices.Tri, wait time.Duration) *harness {
	m.t.Helper()
	h := m.start(opts)
	h.publish(muted)
	pass(wait)
	return h
}

// run lets it begin.
func (h *harness) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	h.stop = func() {
		cancel()
		<-done
	}
}

// leave ends it without a word to clients, as if it were killed.
func (h *harness) leave() {
	h.LeaveWith(ExitLeave)
	h.stop()
}

// update ends it to make way for the next agent.
func (h *harness) update() {
	h.LeaveWith(ExitUnmute)
	h.stop()
}

// complete says where an agent is. In memory, it looks for clients on the first ports of the range.
func (m *machine) complete(h *harness, opts Options) Options {
	opts.DialPort = m.dialPort
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(m.t.Output(), nil))
	}
	opts.ClientID = cmp.Or(opts.ClientID, clientID)
	if opts.Local == nil {
		opts.Local = m
	}
	if opts.Ports == nil && m.Network != nil {
		opts.Ports = []int{6463, 6464, 6465}
	}
	opts.OnDelivery = func(d Delivery) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.deliveries = append(h.deliveries, d)
	}
	return opts
}

// publish reports a headset with the given mute.
func (h *harness) publish(mute devices.Tri) devices.Snapshot {
	h.generation++
	s := linktest.Headset(mute)
	s.Generation, s.At = h.generation, time.Now()
	h.Publish(s)
	return s
}

func (h *harness) delivered() []Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Delivery(nil), h.deliveries...)
}

// has waits until the server holds the headset with the given mute.
func has(t *testing.T, s *fakeserver.Server, mute devices.Tri) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.Wait(ctx, func(list []fakeserver.Device) bool {
		return len(list) == 2 && devices.Tri.String(tri(list[1].HardwareMute)) == mute.String()
	})
	require.NoError(t, err)
}

func hasNone(t *testing.T, s *fakeserver.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, s.Wait(ctx, func(list []fakeserver.Device) bool { return len(list) == 0 }))
}

func tri(b *bool) devices.Tri {
	if b == nil {
		return devices.Unknown
	}
	return devices.Of(*b)
}

// spotless requires that no accepted payload gave the server cause for a remark.
func spotless(t *testing.T, s *fakeserver.Server) {
	t.Helper()
	for _, p := range s.Payloads() {
		require.Empty(t, p.Warnings, "payload %s", p.Raw)
		require.NoError(t, p.Err)
	}
}

// blackHole accepts connections and says nothing.
func (m *machine) blackHole(port int) {
	m.t.Helper()
	l := m.listen(port)
	var conns []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	}()
	m.t.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range conns {
			c.Close()
		}
	})
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, patience, 5*time.Millisecond, what)
}
