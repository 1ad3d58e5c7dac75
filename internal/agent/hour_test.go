package agent_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/fakeserver"
	"sidetone/internal/agent"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient"
)

var seed = flag.Uint64("seed", 0, "play only the hour of this seed")

func seeds(fixed ...uint64) []uint64 {
	if *seed != 0 {
		return []uint64{*seed}
	}
	return fixed
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// speed is how much faster than in life the hour passes. The Engine's times are scaled by it.
// Those of the rpcclient cannot be: the scheduler and the network are no faster than in life.
const speed = 1000

const (
	answerTimeout = 100 * time.Millisecond
	patience      = 30 * time.Second // for what must happen; no claim about speed
)

// The decks of faults that can meet each transport, in the words of fakeserver.ParseFault.
var (
	anywhere = []string{
		"refuse", "hang", "close-after=2", "die", "2*die", "no-answer", "2*no-answer", "answer-late=20ms", "answer-late=150ms",
		"wrong-nonce", "bad-json", "error=1000:Unknown Error", "error=4000:Invalid Client ID", "squatter",
	}
	onWebSocket = []string{"ready-late=20ms", "ready-late=150ms", "ready-never", "close-code=4001", "close-code=1003"}
	onHTTP      = []string{"http-error=4000:Invalid Client ID", "http-error=4001:Invalid Origin"}
	decks       = map[rpcclient.Transport][]string{
		rpcclient.WebSocket: slices.Concat(anywhere, onWebSocket),
		rpcclient.HTTP:      slices.Concat(anywhere, onHTTP),
		rpcclient.Auto:      slices.Concat(anywhere, onWebSocket, []string{"websocket/no-answer", "websocket/error=4006:Not authenticated"}),
	}
)

// TestHour plays an hour of random events, with everything that a client can do wrong, through
// the Engine and a real conversation. Afterwards the client must know the truth; on the way it
// must never have been told anything older after anything newer.
func TestHour(t *testing.T) {
	all := []rpcclient.Transport{rpcclient.WebSocket, rpcclient.HTTP, rpcclient.Auto}
	for _, seed := range seeds(1, 2, 3) {
		transport := all[seed%3]
		t.Run(fmt.Sprintf("seed %d over %s", seed, transport), func(t *testing.T) {
			t.Parallel()
			hour := record(seed, decks[transport])
			played := 0
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("replay with -run 'TestHour$' -seed %d; played up to event %d:\n%s", seed, played, listing(hour[:played]))
				}
			})
			s := newStage(t, transport)
			start := time.Now()
			for _, e := range hour {
				played++
				s.until(start.Add(e.at / speed))
				s.play(e)
			}
			s.finish()
		})
	}
}

// stage is the whole way of a change, from the truth to the fake client.
type stage struct {
	*world
	t         *testing.T
	ctx       context.Context
	ports     []int
	resolvers []*devices.Resolver
	engine    *agent.Engine
	client    *rpcclient.Client
	server    *fakeserver.Server
	stop      func()

	mu        sync.Mutex
	published []devices.Snapshot
}

func newStage(t *testing.T, transport rpcclient.Transport) *stage {
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	s := &stage{world: newWorld(), t: t, ctx: ctx, ports: freePorts(t, 3), resolvers: resolvers(t)}
	var err error
	s.server, err = fakeserver.Start(fakeserver.Options{Ports: s.ports})
	require.NoError(t, err)
	t.Cleanup(func() { s.server.Close() })
	s.client = rpcclient.New(rpcclient.Options{
		ClientID: "123456789012345678", Ports: s.ports, Transport: transport,
		ProbeTimeout: answerTimeout, AnswerTimeout: answerTimeout, HTTPTimeout: 2 * answerTimeout, RetryMax: 20 * time.Millisecond, RefusedWait: 20 * time.Millisecond,
		StopTimeout: patience,
	})
	s.engine = agent.New(agent.Options{
		Settings: s.scaled(), Sources: sources, Publish: s.publish, Log: slog.New(slog.DiscardHandler),
	})
	running, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.engine.Run(running) })
	wg.Go(func() { s.client.Run(running) })
	s.stop = func() { stop(); wg.Wait() }
	t.Cleanup(s.stop)
	for _, source := range sources {
		s.read(source)
	}
	return s
}

func (s *stage) scaled() agent.Settings { return s.settings(s.resolvers, grace/speed, stale/speed) }

func (s *stage) publish(snap devices.Snapshot) {
	s.mu.Lock()
	s.published = append(s.published, snap)
	s.mu.Unlock()
	s.client.Publish(snap)
}

func (s *stage) read(source string) {
	o := s.reading(source, time.Now())
	date(o.Endpoints)
	s.engine.Observe(o)
}

// date says when each unit was attached: always the same, since at this speed nobody can tell
// whether one came back within its grace and so keeps its place in the list.
func date(endpoints []devices.Endpoint) {
	for i := range endpoints {
		e := &endpoints[i]
		e.Attached = time.Unix(1+int64(slices.Index(inputs, strings.TrimPrefix(e.Container, "usb:"))), 0)
	}
}

// until waits for the moment of the next event.
func (s *stage) until(at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
		require.FailNow(s.t, "the hour took too long")
	}
}

func (s *stage) play(e event) {
	switch e.do {
	case misbehave:
		s.misbehave(e.what)
	case reconnect:
		s.server.DropConnections()
	case restart:
		ports := slices.Clone(s.ports)
		if e.n == 1 { // another port: the present one is the last choice
			i := slices.Index(ports, s.server.Port())
			ports = slices.Concat(ports[i+1:], ports[:i+1])
		}
		require.NoError(s.t, s.server.Restart(ports...))
	case away:
		s.server.Stop()
	case back:
		require.NoError(s.t, s.server.Resume(s.ports...))
	case resend:
		s.client.Resend()
	case settle:
		s.settle()
	default:
		for _, source := range s.apply(e) {
			s.read(source)
		}
		if e.do == configure {
			s.engine.Configure(s.scaled())
		}
	}
}

// misbehave brings a fault about and waits until it has met the agent.
func (s *stage) misbehave(what string) {
	fault, err := fakeserver.ParseFault(what)
	require.NoError(s.t, err)
	before := s.server.Stats()
	require.NoError(s.t, s.server.SetFault(fault))
	switch fault.Kind {
	case fakeserver.FaultNone:
		return
	case fakeserver.FaultRefuse: // nobody sees who is refused
		s.server.DropConnections()
		return
	case fakeserver.FaultHang, fakeserver.FaultSquatter, fakeserver.FaultReadyLate, fakeserver.FaultReadyNever, fakeserver.FaultCloseCode:
		s.newSession()
	}
	if fault.Transport == fakeserver.WebSocket {
		s.newSession() // the present one may be over HTTP
	}
	for {
		seen := s.server.Stats().Payloads
		s.client.Resend()
		err := s.server.WaitStats(s.ctx, func(st fakeserver.Stats) bool { return st.Faults > before.Faults || st.Payloads > seen })
		require.NoError(s.t, err, "the fault %s never met the agent; status %+v", what, s.client.Status())
		if s.server.Stats().Faults > before.Faults {
			return
		}
	}
}

// newSession makes the agent search and connect anew, over its first transport.
func (s *stage) newSession() {
	s.server.Stop()
	require.Eventually(s.t, func() bool { return s.client.Status().State == rpcclient.Searching }, patience, time.Millisecond)
	require.NoError(s.t, s.server.Resume(s.ports...))
}

// settle ends all failures of sources and requires that the client learns the truth. The last
// changes come fast: each may find the one before on its way.
func (s *stage) settle() {
	for range 5 {
		s.recover()
		for _, source := range sources {
			s.read(source)
		}
	}
	truth := s.all()
	date(truth)
	want := text(s.resolvers[s.config].Resolve(devices.Inputs{Endpoints: truth}).Wire())
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	err := s.server.Wait(ctx, func(list []fakeserver.Device) bool { return text(list) == want })
	require.NoError(s.t, err, "status %+v\nwant %s\nhas  %s", s.client.Status(), want, text(s.server.Devices()))
	require.Equal(s.t, want, text(s.engine.View().Snapshot.Wire()))
}

// finish ends the hour.
func (s *stage) finish() {
	s.settle()
	s.stop()
	require.Empty(s.t, s.server.Devices(), "an orderly end empties the list")
	st := s.server.Stats()
	s.t.Logf("%d lists published, %d payloads sent, %d not taken, %d faults, %d connections",
		len(s.published), st.Payloads, st.Rejected, st.Faults, st.Accepted)
	s.inspect()
}

// inspect looks at all that was published and sent in the hour.
func (s *stage) inspect() {
	generations := make(map[string][]int) // of each list
	for i, snap := range s.published {
		require.EqualValues(s.t, i+1, snap.Generation)
		list := text(snap.Wire())
		generations[list] = append(generations[list], i+1)
	}
	reached := 0
	for _, p := range s.server.Payloads() {
		require.Empty(s.t, p.Warnings, "payload %d: %s", p.Seq, p.Raw)
		if p.Fault == fakeserver.FaultNone {
			require.NoError(s.t, p.Err, "payload %d: %s", p.Seq, p.Raw)
		}
		if len(p.Devices) == 0 { // the proof of a client and the farewell tell nothing old
			continue
		}
		possible := generations[text(p.Devices)]
		i, _ := slices.BinarySearch(possible, reached)
		require.Less(s.t, i, len(possible), "payload %d is older than generation %d, which the client had: it is of %v\n%s",
			p.Seq, reached, possible, p.Raw)
		reached = possible[i]
	}
}

// freePorts returns n ports that nobody listens on, below those that the kernel gives to
// outgoing connections.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for port := 20000 + int(time.Now().UnixNano()%10000); len(ports) < n; port++ {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			require.NoError(t, l.Close())
			ports = append(ports, port)
		}
	}
	return ports
}
