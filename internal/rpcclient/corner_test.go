package rpcclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/link/linktest"
)

// bent is a machine of which single answers can be changed.
type bent struct {
	*machine
	looks     atomic.Int64
	listeners atomic.Pointer[error]                               // what Listeners fails with
	dialed    func(path string, p local.Process) local.Process    // who answers a Dial
	renamed   atomic.Pointer[func([]local.Socket) []local.Socket] // what Sockets says
}

func (b *bent) Sockets() ([]local.Socket, []health.Condition) {
	b.looks.Add(1)
	s, notes := b.machine.Sockets()
	if f := b.renamed.Load(); f != nil {
		s = (*f)(s)
	}
	return s, notes
}

func (b *bent) Listeners(ports []int) ([]local.Listener, error) {
	if err := b.listeners.Load(); err != nil && *err != nil {
		return nil, *err
	}
	return b.machine.Listeners(ports)
}

// Identify knows nothing of what was found without Listeners, as the platform's.
func (b *bent) Identify(list []local.Listener) {
	if len(list) > 0 && list[0].ID != 0 {
		b.machine.Identify(list)
	}
}

func (b *bent) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	c, p, err := b.machine.Dial(ctx, path)
	if b.dialed != nil && err == nil {
		p = b.dialed(path, p)
	}
	return c, p, err
}

// ipcServer is a socket that does on each connection whatever a test wants.
type ipcServer struct {
	net.Listener
	kill func() // ends it as a process that is killed
}

// serveIPC listens on the socket, and calls handle for each connection.
func (m *machine) serveIPC(path string, handle func(f linktest.Frames)) *ipcServer {
	m.t.Helper()
	s := &ipcServer{}
	if m.Network == nil {
		var err error
		s.Listener, s.kill, err = listenFile(path)
		require.NoError(m.t, err)
	} else {
		process := m.Process(local.Process{})
		l, err := process.ReopenIPC(path)
		require.NoError(m.t, err)
		s.Listener, s.kill = l, process.Kill
	}
	var mu sync.Mutex
	var conns []net.Conn
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				handle(linktest.NewFrames(c))
			})
		}
	})
	m.t.Cleanup(func() {
		s.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

// quiet reports whether f stays false for a while: long enough for what is wrong to happen.
func quiet(f func() bool) bool {
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if f() {
			return false
		}
	}
	return true
}

func soon(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 4*time.Second, 5*time.Millisecond, what)
}

const hello = `{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1}}`

// A port of unknown owner that waits, as each does on macOS and Windows, is left alone. What ends
// it at each wake-up has it probed anew, and where there are two such ports, the end of one is the
// wake-up that ends the other, for as long as they do not end at the same moment.
func TestAWaitingPortIsNotProbedAtEachWakeUp(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1)[0]
		m.own(s.Port(), local.Process{UID: "1000"})
		b := &bent{machine: m}
		opts := quick(s.Port())
		opts.Local = b
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "one is served, one waits", func() bool {
			s := h.Status().Sessions
			return len(s) == 2 && s[0].State == Ready && s[1].State == Waiting
		})
		before := s.Stats().Probes
		for range 20 {
			n := b.looks.Load()
			m.appear()
			eventually(t, "looked", func() bool { return b.looks.Load() > n })
		}
		eventually(t, "it waits", func() bool { return h.Status().Sessions[1].State == Waiting })
		require.LessOrEqual(t, s.Stats().Probes-before, 2)
	})
}

// A session that waits is not ended when its client goes: the status shows ghosts.
func TestAWaitingClientThatGoesIsForgotten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		all := desktops(t, m, 2)
		opts := quick(portsOf(all)...)
		opts.Local, opts.Clients = m, FirstClient
		h := m.start(opts)
		h.publish(devices.True)
		soon(t, "one waits", func() bool {
			s := h.Status().Sessions
			return len(s) == 2 && s[0].State == Ready && s[1].State == Waiting
		})
		all[1].Stop()
		m.appear()
		soon(t, "it is forgotten", func() bool { return len(h.Status().Sessions) == 1 })
	})
}

// The proof of a port is from before the wait, which may take hours.
func TestAfterWaitingThePortIsProvedAgain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		client := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
		m.own(client.IPCPath(), local.Process{PID: 100, UID: "1000"})
		port := m.freePorts(1)[0]
		m.own(port, local.Process{UID: "1000"})
		real := m.serveRaw(port, rpc(func(*rawConn, string) bool { return false }))
		opts := quick(port)
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.True)
		has(t, client, devices.True)
		soon(t, "the port waits", func() bool {
			s := h.Status().Sessions
			return len(s) == 2 && s[0].State == Ready && s[1].State == Waiting
		})

		real.listener.Close()
		m.own(port, local.Process{PID: 666, UID: "1001"})
		stranger := m.serveRaw(port, func(c *rawConn) {
			for {
				if _, _, err := c.request(); err != nil {
					return
				}
				c.reply("400 Bad Request", "", "")
			}
		})
		client.Stop()
		m.appear()
		require.True(t, quiet(func() bool { return strings.Contains(strings.Join(stranger.everything(), ""), `"Mic"`) }),
			"another user's program got the list")
	})
}

// Only the first connection to a socket is asked whose it is. On Windows a pipe has no ID, so
// any client that restarts is met like this.
func TestEachConnectionAsksWhoseTheSocketIs(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
		var dials atomic.Int64
		b := &bent{machine: m, dialed: func(string, local.Process) local.Process {
			if dials.Add(1) == 1 {
				return local.Process{PID: 100, UID: "1000", Name: "Discord"}
			}
			return local.Process{PID: 666, UID: "1001", Name: "stranger"}
		}}
		opts := quick()
		opts.Local = b
		h := m.start(opts)
		h.publish(devices.False)
		has(t, s, devices.False)
		eventually(t, "ready", h.connected)
		before := len(s.Payloads())
		s.DropConnections() // and somebody else accepts the next one
		require.True(t, quiet(func() bool { return len(s.Payloads()) > before }), "another user's program got the list")
	})
}

// A session over a port of unknown owner must end when the socket's session gets READY, however
// late that is.
func TestAPortOfUnknownOwnerYieldsToALateREADY(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{Profile: fakeserver.Documented})
		m.own(s.Port(), local.Process{UID: "1000"})
		opts := quick(s.Port())
		opts.Local, opts.HTTPTimeout = m, patience
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "over its port", h.connected)

		path := m.socket(0)
		m.own(path, local.Process{PID: 100, UID: "1000"})
		greet := make(chan struct{})
		m.serveIPC(path, func(f linktest.Frames) {
			_, _, _ = f.Next()
			<-greet
			_ = f.Send(linktest.OpFrame, []byte(hello))
			for {
				_, body, err := f.Next()
				if err != nil {
					return
				}
				_ = f.Send(linktest.OpFrame, []byte(accept(nonceOf(body))))
			}
		})
		m.appear()
		eventually(t, "the socket is found", func() bool { return len(h.Status().Sessions) == 2 })
		eventually(t, "the search has slowed down", h.searchesSeldom)
		close(greet)
		soon(t, "the port yields", func() bool {
			ready := 0
			for _, s := range h.Status().Sessions {
				if s.State == Ready {
					ready++
				}
			}
			return ready == 1 && h.session().Transport == IPC
		})
	})
}

// A look that fails once, or a socket whose name or times change, makes a second session with
// the same process.
func TestOneProcessHasOneSession(t *testing.T) {
	t.Parallel()
	count := func(h *harness) int {
		n := 0
		for _, s := range h.Status().Sessions {
			if s.State == Ready || s.State == Degraded {
				n++
			}
		}
		return n
	}
	t.Run("listeners fail once", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, m *machine) {
			s := m.serve(fakeserver.Options{Profile: fakeserver.Documented})
			m.own(s.Port(), local.Process{PID: 100, UID: "1000"})
			b := &bent{machine: m}
			opts := quick(s.Port())
			opts.Local = b
			h := m.start(opts)
			h.publish(devices.True)
			eventually(t, "ready", h.connected)
			failure := errors.New("too many open files")
			b.listeners.Store(&failure)
			n := b.looks.Load()
			m.appear()
			eventually(t, "looked", func() bool { return b.looks.Load() > n })
			b.listeners.Store(nil)
			m.appear()
			require.True(t, quiet(func() bool { return count(h) > 1 }), "%+v", h.Status().Sessions)
		})
	})
	t.Run("the socket's times change", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("pipes have no times")
		}
		onSockets(t, func(t *testing.T, m *machine) {
			s := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
			m.own(s.IPCPath(), local.Process{PID: 100, UID: "1000"})
			opts := m.quick()
			opts.Local = m
			h := m.start(opts)
			h.publish(devices.True)
			eventually(t, "ready", h.connected)
			require.NoError(t, os.Chtimes(s.IPCPath(), time.Now(), time.Now().Add(time.Hour))) // as chmod does to the ctime of platform's ID
			m.appear()
			require.True(t, quiet(func() bool { return count(h) > 1 }), "%+v", h.Status().Sessions)
		})
	})
	t.Run("the socket gets another name", func(t *testing.T) { // as when a Flatpak client's is linked
		inVirtualTime(t, func(t *testing.T, m *machine) {
			s := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
			link := m.socket(9)
			m.own(s.IPCPath(), local.Process{PID: 100, UID: "1000"})
			m.own(link, local.Process{PID: 100, UID: "1000"})
			b := &bent{machine: m}
			opts := quick()
			opts.Local = b
			h := m.start(opts)
			h.publish(devices.True)
			eventually(t, "ready", h.connected)
			m.link(s.IPCPath(), link)
			renamed := func(found []local.Socket) []local.Socket { return []local.Socket{{Path: link, ID: found[0].ID}} } // one of two names, as platform does
			b.renamed.Store(&renamed)
			m.appear()
			require.True(t, quiet(func() bool { return count(h) > 1 }), "%+v", h.Status().Sessions)
		})
	})
}

// What a client has refused over its socket says nothing of the port that it opened meanwhile.
func TestAPortThatAppearsDuringARefusalIsTried(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		path := m.socket(0)
		m.own(path, local.Process{PID: 100, UID: "1000"})
		refuse := make(chan struct{})
		m.serveIPC(path, func(f linktest.Frames) {
			_, _, _ = f.Next()
			<-refuse
			_ = f.Send(linktest.OpClose, []byte(`{"code":4001,"message":"Invalid Origin"}`))
		})
		port := m.freePorts(1)[0]
		m.own(port, local.Process{PID: 100, UID: "1000"})
		b := &bent{machine: m}
		opts := quick(port)
		opts.Local, opts.HTTPTimeout = b, patience
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "found", func() bool { return len(h.Status().Sessions) == 1 })
		s := m.serve(fakeserver.Options{Profile: fakeserver.Documented, Ports: []int{port}})
		n := b.looks.Load()
		m.appear()
		eventually(t, "looked", func() bool { return b.looks.Load() > n+1 })
		close(refuse)
		soon(t, "over the port", func() bool { return len(s.Devices()) == 2 })
	})
}

// A client that is busy for some seconds when it starts, beside one that is served, is taken for
// another program and never asked again.
func TestABusyClientBesideAnotherIsAskedAgain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		desktops(t, m, 1)
		path := m.socket(1)
		m.own(path, local.Process{PID: 200, UID: "1000", Name: "DiscordPTB"})
		var busy atomic.Bool
		busy.Store(true)
		greeted := make(chan struct{}, 10)
		m.serveIPC(path, func(f linktest.Frames) {
			_, _, _ = f.Next()
			if busy.Load() {
				_, _, _ = f.Next()
				return
			}
			_ = f.Send(linktest.OpFrame, []byte(hello))
			greeted <- struct{}{}
			_, _, _ = f.Next()
		})
		port := m.freePorts(1)[0]
		m.own(port, local.Process{PID: 200, UID: "1000", Name: "DiscordPTB"})
		m.blackHole(port)
		opts := quick(port)
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.True)
		soon(t, "one is served", h.connected)
		eventually(t, "the search has slowed down", h.searchesSeldom)
		busy.Store(false)
		select {
		case <-greeted:
		case <-time.After(4 * time.Second):
			t.Fatalf("status: %+v", h.Status())
		}
	})
}

// A client that was killed leaves its socket. Nobody is there: the status has to say so, and
// there is nothing to try again and again.
func TestTheSocketOfAKilledClientIsLeftAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		path := m.socket(0)
		m.own(path, local.Process{PID: 100, UID: "1000", Name: "Discord"})
		die := make(chan struct{})
		l := m.serveIPC(path, func(f linktest.Frames) {
			_, _, _ = f.Next()
			_ = f.Send(linktest.OpFrame, []byte(hello))
			<-die
		})
		opts := m.quick(m.freePorts(1)...)
		opts.Local = m
		h := m.start(opts)
		eventually(t, "found", func() bool { return len(h.Status().Sessions) == 1 })
		l.kill()
		close(die)
		eventually(t, "searching", func() bool { return h.Status().State == Searching && len(h.Status().Sessions) == 0 })
		require.True(t, quiet(func() bool { return h.Status().State != Searching }), "%+v", h.Status().Sessions)
	})
}

// A real client that is too slow once for the free proof must not be taken for one without a
// rate limit.
func TestASlowFingerprintDoesNotSwitchPacingOff(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		var gets, posts atomic.Int64
		s := m.serveRaw(0, func(c *rawConn) {
			for {
				req, body, err := c.request()
				switch {
				case err != nil:
					return
				case req.Header.Get("Upgrade") != "":
					c.reply("400 Bad Request", "", "")
				case req.Method == http.MethodGet:
					if gets.Add(1) == 1 {
						c.untilClosed() // longer than anybody waits
						return
					}
					c.fingerprint()
				default:
					if bytes.Contains(body, []byte("Mic")) {
						posts.Add(1)
					}
					c.say(accept(nonceOf(body)))
				}
			}
		})
		opts := quick(s.port())
		opts.Local, opts.Tokens, opts.TokenEvery = m, 3, time.Hour // the WebSocket that is tried for a proof takes one
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "delivered", h.connected)
		h.publish(devices.False)
		eventually(t, "the second token is spent", func() bool { return posts.Load() == 2 })
		h.publish(devices.True)
		eventually(t, "it waits for a token", func() bool { return time.Until(h.session().NextTry) > time.Minute })
		require.LessOrEqual(t, posts.Load(), int64(2), "state %s, %d POSTs, 2 tokens", h.session().State, posts.Load())
	})
}

// In first mode a client that moves to its own socket must not lose its turn to another, and be
// left with what it was told last.
func TestTheFirstClientKeepsItsTurnWhenItMovesToItsSocket(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		hidden := m.elsewhere()
		all := desktops(t, hidden, 2, func(o *fakeserver.Options) { o.Origins = nil; o.Profile = fakeserver.Documented })
		for i, s := range all {
			m.own(s.Port(), local.Process{PID: 100 + i, UID: "1000"})
		}
		opts := quick(portsOf(all)...)
		opts.Local, opts.Clients, opts.Origin = m, FirstClient, origin
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "one served, one waiting", func() bool {
			s := h.Status().Sessions
			return len(s) == 2 && s[0].State == Ready && s[0].Transport == WebSocket && s[1].State == Waiting
		})
		first := all[0]
		if h.session().Port != first.Port() {
			first = all[1]
		}
		path := m.socket(0)
		m.own(path, local.Process{PID: h.session().PID, UID: "1000"})
		m.link(first.IPCPath(), path)
		m.appear()
		soon(t, "the same client over IPC", func() bool {
			s := h.session()
			return s.State == Ready && s.Transport == IPC
		})
	})
}

// The daemon runs one Client again when settings change twice in a row.
func TestRunTwiceIsNotStopped(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		c := New(Options{ClientID: clientID, Ports: m.freePorts(1), DialPort: m.dialPort})
		for i := range 2 {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); c.Run(ctx) }()
			soon(t, fmt.Sprint("run ", i), func() bool { return c.Status().State == Searching })
			cancel()
			<-done
		}
	})
}

// A client that hung for half a minute, with its line of connections full, is asked again: when
// the machine has slept, if not before.
func TestASocketThatWasDeafForLongIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &hung{greeted: make(chan struct{}, 10)}
		c := New(Options{ClientID: clientID, Transports: only(IPC), Local: l})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		time.Sleep(time.Minute)
		l.well.Store(true)
		c.Resend()
		select {
		case <-l.greeted:
		case <-time.After(time.Hour):
			t.Errorf("notes after an hour: %q", c.Status().Notes)
		}
		cancel()
		<-done
	})
}

// hung is a machine with one client that takes no connections before it is well.
type hung struct {
	noLocal
	well    atomic.Bool
	greeted chan struct{}
}

func (l *hung) Sockets() ([]local.Socket, []health.Condition) {
	return []local.Socket{{Path: "/discord-ipc-0", ID: "1"}}, nil
}

func (l *hung) Dial(context.Context, string) (net.Conn, local.Process, error) {
	if !l.well.Load() {
		return nil, local.Process{}, syscall.EAGAIN
	}
	client, server := net.Pipe()
	go func() {
		f := linktest.NewFrames(server)
		_, _, _ = f.Next()
		_ = f.Send(linktest.OpFrame, []byte(hello))
		l.greeted <- struct{}{}
		_, _, _ = f.Next()
	}()
	return client, local.Process{PID: 100, UID: "1000"}, nil
}

func (l *hung) Watch(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }

// Listeners that fail do not mean that the system never tells: a port that is first seen then
// may be another user's.
func TestWhileListenersFailNewPortsAreLeftAlone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{Profile: fakeserver.Documented})
		m.own(s.Port(), local.Process{PID: 666, UID: "1001"})
		b := &bent{machine: m}
		failure := errors.New("too many open files")
		b.listeners.Store(&failure)
		opts := quick(s.Port())
		opts.Local = b
		h := m.start(opts)
		h.publish(devices.True)
		require.True(t, quiet(func() bool { return len(s.Payloads()) > 0 }), "another user's program got the list")
	})
}

// One resume gives a client that was given up one more chance, not one at each event after.
func TestAResumeIsForgottenAfterOneTry(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{
			Profile: fakeserver.Desktop, Bucket: -1, IPCDir: m.dir, NoTCP: true,
			Fault: fakeserver.Fault{Kind: fakeserver.FaultCloseCode, Code: link.CodeInvalidVersion},
		})
		b := &bent{machine: m}
		opts := quick()
		opts.Local = b
		h := m.start(opts)
		h.publish(devices.True)
		soon(t, "given up", func() bool { return h.session().State == Refused })
		h.Resend()
		soon(t, "tried again", func() bool { return s.Stats().Handshakes == 2 && h.session().State == Refused })
		for range 5 {
			n := b.looks.Load()
			m.appear()
			soon(t, "looked", func() bool { return b.looks.Load() > n })
		}
		require.True(t, quiet(func() bool { return s.Stats().Handshakes > 2 }), "%d handshakes", s.Stats().Handshakes)
	})
}

// Who waits for a token with the very first list is not one that has a list.
func TestNothingIsDegradedBeforeTheFirstList(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1, func(o *fakeserver.Options) { o.IPCDir = "" })[0]
		opts := quick(s.Port())
		opts.Local, opts.Origin, opts.Tokens, opts.TokenEvery = m, origin, 1, time.Hour // the refused WebSocket takes it
		h := m.start(opts)
		h.publish(devices.True)
		soon(t, "it waits for a token", func() bool { return time.Until(h.session().NextTry) > 50*time.Minute })
		require.Empty(t, s.Payloads())
		require.False(t, h.Status().Connected(), "state %s, generation %d", h.session().State, h.session().Generation)
	})
}

// Who sends back what we said has not accepted it (rule R41), over any transport.
func TestAnEchoIsNoDelivery(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		m.serveIPC(m.socket(0), func(f linktest.Frames) {
			_, _, _ = f.Next()
			_ = f.Send(linktest.OpFrame, []byte(hello))
			for {
				op, body, err := f.Next()
				if err != nil {
					return
				}
				_ = f.Send(op, body)
			}
		})
		opts := quick()
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.True)
		require.True(t, quiet(h.connected), "state %s", h.session().State)
	})
}

// unwatched is a machine that tells nobody of a new socket, as Windows.
type unwatched struct{ *machine }

func (unwatched) Watch(context.Context, func()) error { return errors.ErrUnsupported }

func TestASecondClientIsFoundWhereNothingTellsOfIt(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		first := desktops(t, m, 1)[0]
		opts := quick(m.freePorts(1)...)
		opts.Local = unwatched{m}
		h := m.start(opts)
		h.publish(devices.True)
		has(t, first, devices.True)
		eventually(t, "the search has slowed down", h.searchesSeldom)
		second := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
		soon(t, "the second is served", func() bool { return len(second.Devices()) == 2 })
	})
}

// outOfWatches is a machine on which nothing more can be watched.
type outOfWatches struct{ *machine }

func (outOfWatches) Watch(context.Context, func()) error {
	limit := health.Wrap(nil, health.WatchLimit, health.Warning, health.Args{"limit": "fs.inotify.max_user_instances", "more": "1024"})
	return fmt.Errorf("watch for clients' sockets: %w", limit)
}

// TestThatNothingTellsOfClientsIsSaid in the status, with or without a client.
func TestThatNothingTellsOfClientsIsSaid(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		opts := quick(m.freePorts(1)...)
		opts.Local = outOfWatches{m}
		h := m.start(opts)
		h.publish(devices.True)
		said := func() bool {
			notes := h.Status().Notes
			return len(notes) == 1 && notes[0].Code == health.ClientsUnwatched
		}
		eventually(t, "it is said", said)
		note := h.Status().Notes[0]
		healthtest.Raised(t, note)
		require.Equal(t, "new clients are found by searching only: this user already has as many file watches as fs.inotify.max_user_instances allows",
			health.English.Phrase(note))
		require.Contains(t, health.English.Remedy(note), "raise fs.inotify.max_user_instances: 'sudo sysctl fs.inotify.max_user_instances=1024'")
		client := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
		has(t, client, devices.True)
		eventually(t, "ready", h.connected)
		require.True(t, said())
	})
}

// After a while without anything new, that is a search in 5 min. What there is to tell is told within 30 s to whoever has come meanwhile.
func TestSearchesAreRareWhereNothingTellsOfClientsAndOneIsServed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		m.client(m.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		h := m.reporting(Options{Local: unwatched{m}}, devices.True, quickSearchFor+time.Minute)
		before := m.looked()
		pass(time.Hour)
		require.InDelta(t, 11, m.looked()-before, 1)

		second := m.client(m.program(200), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		pass(6 * time.Minute)
		require.Equal(t, devices.True, mute(second), "there is no news")
		pass(time.Hour)
		third := m.program(300)
		newest := m.client(third, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		h.publish(devices.False)
		pass(newListInterval + time.Second)
		require.Equal(t, devices.False, mute(newest))
		third.Kill()
		pass(time.Minute)
		before = m.looked()
		pass(time.Minute)
		require.InDelta(t, 2, m.looked()-before, 1, "it may be back")
	})
}

// restless is a machine on which something changes at each look, as another program can have it
// in a folder that it may write to.
type restless struct {
	noLocal
	notify atomic.Pointer[func()]
	looks  atomic.Int64
	limit  int64
	over   chan struct{}
}

func (l *restless) Sockets() ([]local.Socket, []health.Condition) {
	switch n := l.looks.Add(1); {
	case n == l.limit:
		close(l.over)
	case n > l.limit:
		return nil, nil
	}
	if f := l.notify.Load(); f != nil {
		(*f)()
	}
	return nil, nil
}

func (l *restless) Watch(ctx context.Context, notify func()) error {
	l.notify.Store(&notify)
	notify()
	<-ctx.Done()
	return nil
}

func TestAStormOfEventsIsNoStormOfLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &restless{limit: 1000, over: make(chan struct{})}
		c := New(Options{ClientID: clientID, Transports: only(IPC), Local: l})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		begin := time.Now()
		<-l.over
		if time.Since(begin) < time.Second {
			t.Errorf("%d looks in %v", l.limit, time.Since(begin))
		}
		cancel()
		<-done
	})
}
