package engine_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/rpcclient"
)

const clientID = "123456789012345678"

// speed is how much faster than in life the hour passes. The Engine's times are scaled by it,
// and so are the tokens of the clients, on both sides. The rpcclient's deadlines cannot be: the
// scheduler and the network are no faster than in life.
const speed = 1000

const (
	tokens        = 2
	tokenEvery    = 30 * time.Second / speed
	answerTimeout = 250 * time.Millisecond
	httpTimeout   = 3 * answerTimeout
	stopTimeout   = 2 * time.Second
	retryMax      = 20 * time.Millisecond
	patience      = 30 * time.Second // for what must happen; no claim about speed
)

// part is what an actor plays.
type part struct {
	name    string
	profile fakeserver.Profile
}

// stage is the whole way of a change, from the truth to the fake clients.
type stage struct {
	*world
	*machine
	t          *testing.T
	ctx        context.Context
	transports []rpcclient.Transport
	resolvers  []*catalogue.Resolver
	engine     *engine.Engine
	stopAgent  func() // ends client in order
	stopEngine func()

	mu        sync.Mutex
	client    *rpcclient.Client
	published []devices.Snapshot
}

func newStage(t *testing.T, transports []rpcclient.Transport, cast ...part) *stage {
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	s := &stage{world: newWorld(), machine: newMachine(t), t: t, ctx: ctx, transports: transports, resolvers: resolvers(t)}
	ports := freePorts(t, len(cast)+2)
	for i, p := range cast {
		opts := fakeserver.Options{Profile: p.profile, Ports: ports, ClientIDs: []string{clientID}, Refill: tokenEvery, Seed: uint64(i)}
		if p.profile == fakeserver.Documented {
			opts.Bucket = tokens
		}
		s.start(t, p.name, opts)
	}
	s.startAgent()
	s.engine = engine.New(engine.Options{
		Settings: s.scaled(), Sources: sources, Publish: s.publish, Log: slog.New(slog.DiscardHandler),
	})
	s.stopEngine = inBackground(ctx, s.engine.Run)
	t.Cleanup(func() {
		s.stopEngine()
		s.stopAgent()
	})
	for _, source := range sources {
		s.read(source)
	}
	return s
}

// inBackground runs f until stop is called or ctx ends. stop waits for its end.
func inBackground(ctx context.Context, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// startAgent begins the life of an rpcclient, which knows nothing of one before.
func (s *stage) startAgent() {
	client := rpcclient.New(rpcclient.Options{
		ClientID: clientID, Ports: s.actors[0].ports, Local: s.machine, Transports: s.transports, Tokens: tokens, TokenEvery: tokenEvery,
		ProbeTimeout: answerTimeout, AnswerTimeout: answerTimeout, HTTPTimeout: httpTimeout, RetryMax: retryMax, RefusedWait: retryMax,
		StopTimeout: stopTimeout,
	})
	s.mu.Lock()
	s.client = client
	if n := len(s.published); n > 0 {
		client.Publish(s.published[n-1])
	}
	s.mu.Unlock()
	s.stopAgent = inBackground(s.ctx, client.Run)
}

func (s *stage) scaled() engine.Settings { return s.settings(s.resolvers, grace/speed, stale/speed) }

func (s *stage) publish(snap devices.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published = append(s.published, snap)
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

// actor is the one of that name; without one, there is only one.
func (s *stage) actor(name string) *actor {
	i := slices.IndexFunc(s.actors, func(a *actor) bool { return name == "" || a.name == name })
	return s.actors[i]
}

func (s *stage) play(e event) {
	switch a := s.actor(e.who); e.do {
	case misbehave:
		s.misbehave(a, parse(s.t, e.what))
	case disturb:
		s.suffers(s.t, a, parse(s.t, e.what))
		if e.n == 1 {
			s.drop(a)
		}
	case reconnect:
		s.drop(a)
	case restart:
		s.restart(a, e.n == 1)
	case away:
		s.goes(a)
	case back:
		if a.away {
			s.restart(a, false)
		}
	case resend:
		s.resend()
	case rerun:
		s.rerun()
	case reconcile:
		s.reconcile(e.n == 1)
	default:
		for _, source := range s.apply(e) {
			s.read(source)
		}
		if e.do == configure {
			s.engine.Configure(s.scaled())
		}
	}
}

func parse(t *testing.T, what string) fakeserver.Fault {
	t.Helper()
	f, err := fakeserver.ParseFault(what)
	require.NoError(t, err)
	return f
}

func (s *stage) restart(a *actor, elsewhere bool) {
	ports := slices.Clone(a.ports)
	if elsewhere { // the present port is the last choice
		i := slices.Index(ports, a.Port())
		ports = slices.Concat(ports[i+1:], ports[:i+1])
	}
	s.restarts(s.t, a, ports...)
}

// drop may cut off an answer, so that the list is sent again.
func (s *stage) drop(a *actor) {
	s.chance(a)
	a.DropConnections()
}

// resend is what a resume of the machine makes the agent do.
func (s *stage) resend() {
	s.chance(s.actors...)
	s.client.Resend()
}

// rerun ends the agent and starts another. It may find buckets that the first has emptied.
func (s *stage) rerun() {
	s.stopAgent()
	s.chance(s.actors...)
	for _, a := range s.actors {
		a.life().inherit = true
	}
	s.startAgent()
}

// meetsOnlySome are the faults that do not meet every connection that exists already.
var meetsOnlySome = []fakeserver.FaultKind{
	fakeserver.FaultHang, fakeserver.FaultSquatter, fakeserver.FaultReadyLate, fakeserver.FaultReadyNever, fakeserver.FaultCloseCode,
	fakeserver.FaultLogin, fakeserver.FaultOffline, fakeserver.FaultExtraAnswer, fakeserver.FaultTwice,
}

// misbehave brings a fault about and waits until it has met the agent.
func (s *stage) misbehave(a *actor, fault fakeserver.Fault) {
	before := a.Stats()
	s.suffers(s.t, a, fault)
	switch fault.Kind {
	case fakeserver.FaultNone:
		return
	case fakeserver.FaultRefuse: // nobody sees who is refused
		s.drop(a)
		return
	}
	if fault.Transport != "" || slices.Contains(meetsOnlySome, fault.Kind) {
		s.goes(a)
		s.eventually("the agent has noticed the end of the client", func() bool { return s.client.Status().State == rpcclient.Searching })
		s.restart(a, false)
	}
	for a.Stats().Faults == before.Faults {
		require.NoError(s.t, s.ctx.Err(), "the fault %s never met the agent; status %s", fault, text(s.client.Status()))
		// One that is waiting for an answer has no ear for this.
		seen := a.Stats().Payloads
		s.resend()
		s.wait(a, func() bool { st := a.Stats(); return st.Faults > before.Faults || st.Payloads > seen })
	}
}

// wait returns when the condition holds, which is looked at when something happens at a, or
// after an answer's time.
func (s *stage) wait(a *actor, holds func() bool) {
	ctx, cancel := context.WithTimeout(s.ctx, answerTimeout)
	defer cancel()
	_ = a.WaitStats(ctx, func(fakeserver.Stats) bool { return holds() })
}

func (s *stage) eventually(what string, holds func() bool) {
	s.t.Helper()
	if !s.within(patience, holds) {
		require.FailNow(s.t, what, "status %s", text(s.client.Status()))
	}
}

func (s *stage) within(limit time.Duration, holds func() bool) bool {
	for end := time.Now().Add(limit); !holds(); {
		if time.Now().After(end) {
			return false
		}
		s.until(time.Now().Add(time.Millisecond))
	}
	return true
}

// reconcile ends all failures and requires that the clients learn the truth. The last changes come
// fast: each may find the one before on its way.
func (s *stage) reconcile(restart bool) {
	for _, a := range s.actors {
		if a.able() {
			s.suffers(s.t, a, calm(a))
			s.unstick(a)
		}
	}
	for range 5 {
		s.recover()
		for _, source := range sources {
			s.read(source)
		}
	}
	truth := s.all()
	date(truth)
	want := text(s.resolvers[s.config].Resolve(devices.Inputs{Endpoints: truth}).Wire())
	for _, a := range s.actors {
		if a.able() && !a.away {
			s.learns(a, want, restart)
		}
	}
	require.Equal(s.t, want, text(s.engine.View().Snapshot.Wire()))
	s.eventually("the status is the truth", s.statusIsTrue)
	for _, a := range s.actors {
		if l := a.life(); a.profile == fakeserver.Desktop && !l.inherit {
			require.Equal(s.t, l.waited, a.Stats().Waited, "%s: a request had to wait in line", a.name)
		}
	}
}

// unstick ends the connections on which READY never comes: lifting the fault does not mend them, and the agent waits on one
// for as long as a frozen client may take. A real client closes them (rule R80).
func (s *stage) unstick(a *actor) {
	if st := a.Stats(); a.life().hurt && st.Ready < st.Connections {
		s.drop(a)
	}
}

// calm is the fault with which an actor behaves: without one a flaky client draws its own.
func calm(a *actor) fakeserver.Fault {
	if a.profile == fakeserver.Flaky {
		return fakeserver.Fault{Kind: fakeserver.FaultAnswerLate, Delay: time.Nanosecond}
	}
	return fakeserver.Fault{}
}

// learns requires that a gets the list. If it was given up, it has to have misbehaved, and gets
// another chance.
func (s *stage) learns(a *actor, want string, restart bool) {
	knows := func() bool { return text(a.Devices()) == want }
	for end := time.Now().Add(patience); ; {
		s.wait(a, knows)
		if knows() {
			return
		}
		require.True(s.t, time.Now().Before(end), "%s (pid %d) never learns the truth; status %s\nwant %s\nhas  %s",
			a.name, a.pid, text(s.client.Status()), want, text(a.Devices()))
		if !s.givenUp(a) {
			continue
		}
		require.True(s.t, a.life().hurt, "%s (pid %d) was given up without cause; status %s", a.name, a.pid, text(s.client.Status()))
		if restart {
			s.restart(a, false)
		} else {
			s.resend()
		}
	}
}

// givenUp reports whether the agent has given a up for as long as it lives.
func (s *stage) givenUp(a *actor) bool {
	return slices.ContainsFunc(s.sessions(a.pid), func(session rpcclient.Session) bool {
		return session.State == rpcclient.Unsupported || session.State == rpcclient.Refused && session.NextTry.Before(time.Now())
	})
}

func (s *stage) sessions(pid int) []rpcclient.Session {
	return slices.DeleteFunc(s.client.Status().Sessions, func(session rpcclient.Session) bool { return session.PID != pid })
}

// statusIsTrue: each client that lives and can know the truth has one session, which has
// delivered the newest list; those that have gone have none.
func (s *stage) statusIsTrue() bool {
	alive := map[int]bool{}
	newest := s.engine.View().Snapshot.Generation
	for _, a := range s.actors {
		alive[a.pid] = !a.away
		if !a.able() || a.away {
			continue
		}
		sessions := s.sessions(a.pid)
		if len(sessions) != 1 || !connected(sessions[0]) || sessions[0].Generation != newest {
			return false
		}
	}
	return !slices.ContainsFunc(s.client.Status().Sessions, func(session rpcclient.Session) bool { return !alive[session.PID] })
}

func connected(s rpcclient.Session) bool {
	return s.State == rpcclient.Ready || s.State == rpcclient.Degraded
}

// finish ends the hour.
func (s *stage) finish() {
	s.reconcile(false)
	// Over HTTP the farewell needs a token.
	s.eventually("all clients take another list", func() bool {
		return !slices.ContainsFunc(s.client.Status().Sessions, func(session rpcclient.Session) bool {
			return connected(session) && session.NextTry.After(time.Now())
		})
	})
	s.stopEngine()
	s.stopAgent()
	require.Equal(s.t, rpcclient.Stopped, s.client.Status().State)
	for _, a := range s.actors {
		if a.able() && !a.away {
			require.Empty(s.t, a.Devices(), "%s: an orderly end empties the list", a.name)
		}
		st := a.Stats()
		s.t.Logf("%s: %d lists published, %d payloads sent, %d not taken, %d faults, %d connections, %d lives",
			a.name, len(s.published), st.Payloads, st.Rejected, st.Faults, st.Accepted, len(a.lives))
		s.inspect(a)
	}
}
