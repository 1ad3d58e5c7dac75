package rpcclient

import (
	"bytes"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/local"
)

// desktops starts n real clients, as Stable, PTB and Canary run at once, each a process of its own.
func desktops(t *testing.T, m *machine, n int, change ...func(*fakeserver.Options)) []*fakeserver.Server {
	t.Helper()
	var all []*fakeserver.Server
	for i := range n {
		opts := fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, Refill: 100 * time.Millisecond}
		for _, f := range change {
			f(&opts)
		}
		s := m.serve(opts)
		m.own(s.IPCPath(), local.Process{PID: 100 + i, UID: "1000", Name: "Discord"})
		m.own(s.Port(), local.Process{PID: 100 + i, UID: "1000", Name: "Discord"})
		all = append(all, s)
	}
	return all
}

func portsOf(servers []*fakeserver.Server) []int {
	var ports []int
	for _, s := range servers {
		ports = append(ports, s.Port())
	}
	return ports
}

func TestEveryClientIsServedOverItsBestTransport(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		all := desktops(t, m, 3)
		opts := m.quick(portsOf(all)...)
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.False)
		for _, s := range all {
			has(t, s, devices.False)
		}
		h.publish(devices.True)
		for _, s := range all {
			has(t, s, devices.True)
			require.Equal(t, 1, s.Stats().Handshakes)
			require.Equal(t, 1, s.Stats().Spent, "one token, for the handshake")
			require.Zero(t, s.Stats().Probes, "its port is left alone")
			spotless(t, s)
		}
		eventually(t, "three sessions", func() bool {
			st := h.Status()
			for i, session := range st.Sessions {
				if session.State != Ready || session.Transport != IPC || session.PID != 100+i || session.Name != "Discord" || session.Generation != 2 {
					return false
				}
			}
			return len(st.Sessions) == 3
		})
		h.stop()
		for _, s := range all {
			require.Empty(t, s.Devices(), "each is left with an empty list")
		}
	})
}

func TestOnlyTheFirstClientIsServed(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		all := desktops(t, m, 3)
		opts := m.quick(portsOf(all)...)
		opts.Local, opts.Clients = m, FirstClient
		h := m.start(opts)
		h.publish(devices.True)
		has(t, all[0], devices.True)
		eventually(t, "the others wait", func() bool {
			st := h.Status().Sessions
			return len(st) == 3 && st[0].State == Ready && st[1].State == Waiting && st[2].State == Waiting
		})
		all[0].Stop()
		m.appear()
		has(t, all[1], devices.True)
		require.NoError(t, all[0].Resume())
		m.appear()
		eventually(t, "the second is kept", func() bool {
			st := h.Status().Sessions
			return len(st) == 3 && st[1].State == Ready && st[0].State == Waiting
		})
		require.Empty(t, all[2].Payloads())
	})
}

// TestDegradesToHTTP: without IPC the real client leaves only HTTP, an update for each token.
func TestDegradesToHTTP(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1, func(o *fakeserver.Options) { o.IPCDir, o.Refill = "", 300*time.Millisecond })[0]
		opts := quick(s.Port())
		opts.Local, opts.Origin, opts.Tokens, opts.TokenEvery = m, origin, 2, 300*time.Millisecond
		h := m.start(opts)
		h.publish(devices.False)
		has(t, s, devices.False)
		eventually(t, "degraded", func() bool { return h.session().State == Degraded })
		require.Regexp(t, `^websocket to .*refused by the client: connect error 4001`, h.trouble(), "it says why")
		require.Contains(t, health.English.Phrase(*h.session().Reason), "connect error 4001", "the local API has only this")
		require.Contains(t, remedyOf(h.session().Reason), "one update in 300ms")
		for i := range 20 {
			h.publish(devices.Of(i%2 == 0))
		}
		h.publish(devices.True)
		eventually(t, "it says when the next update is due", func() bool {
			return !h.session().NextTry.IsZero() || s.Devices()[1].HardwareMute != nil && *s.Devices()[1].HardwareMute
		})
		has(t, s, devices.True)
		require.Zero(t, s.Stats().Waited, "nothing ever waited in the client's line")
		spotless(t, s)
	})
}

// TestAStormOfReconnectsSpendsNoMoreThanTheBucket against a client that closes after each answer.
func TestAStormOfReconnectsSpendsNoMoreThanTheBucket(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1, func(o *fakeserver.Options) {
			o.Fault = fakeserver.Fault{Kind: fakeserver.FaultCloseAfter, Count: 1}
			o.Refill = time.Hour
		})[0]
		opts := quick(s.Port())
		opts.Local, opts.Transports, opts.Tokens, opts.TokenEvery, opts.RetryMax = m, only(IPC), 2, time.Hour, time.Millisecond
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "it waits for a token", func() bool {
			return h.session().State == Connecting && time.Until(h.session().NextTry) > 50*time.Minute
		})
		require.Equal(t, 2, s.Stats().Spent)
		require.Zero(t, s.Stats().Queued)
		h.stop()
	})
}

// TestTheBucketMayBeEmpty when the agent starts, from one that ran before it: the client makes
// it wait in line for READY, and that is no reason to go to a worse transport.
func TestTheBucketMayBeEmpty(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1, func(o *fakeserver.Options) { o.Bucket, o.Refill = 1, 3*time.Second })[0]
		opts := quick(s.Port())
		opts.Local, opts.HTTPTimeout = m, patience
		first := m.start(opts)
		first.publish(devices.False)
		has(t, s, devices.False)
		first.stop()

		h := m.start(opts)
		h.publish(devices.True)
		has(t, s, devices.True)
		require.Equal(t, 1, s.Stats().Waited)
		eventually(t, "ready over IPC", func() bool { return h.session().State == Ready && h.session().Transport == IPC })
	})
}

func TestAnotherUsersClientGetsNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		all := desktops(t, m, 2)
		m.own(all[0].IPCPath(), local.Process{PID: 100, UID: "1001", Name: "Discord"})
		m.own(all[0].Port(), local.Process{PID: 100, UID: "1001", Name: "Discord"})
		opts := quick(portsOf(all)...)
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.True)
		has(t, all[1], devices.True)
		st := h.Status().Sessions
		require.Len(t, st, 2)
		require.Equal(t, Foreign, st[0].State)
		require.Contains(t, st[0].Error, "belongs to user 1001, the agent runs as user 1000")
		require.Zero(t, all[0].Stats().Handshakes+all[0].Stats().Probes+all[0].Stats().Payloads)
	})
}

// A socket whose owner the system does not tell, as of another user's pipe on Windows, may be anybody's.
func TestASocketOfUnknownOwnerGetsNothing(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"1000", ""} {
		t.Run("user "+user, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				m.user = user
				all := desktops(t, m, 2)
				m.own(all[0].IPCPath(), local.Process{PID: 100})
				m.own(all[0].Port(), local.Process{PID: 100})
				opts := quick(portsOf(all)...)
				opts.Local = m
				h := m.start(opts)
				h.publish(devices.True)
				has(t, all[1], devices.True)
				st := h.Status().Sessions
				require.Len(t, st, 2)
				require.Equal(t, Foreign, st[0].State)
				require.Contains(t, st[0].Error, "the owner of the socket cannot be determined")
				require.Contains(t, remedyOf(st[0].Reason), "as the same user")
				require.Zero(t, all[0].Stats().Handshakes+all[0].Stats().Probes+all[0].Stats().Payloads)
			})
		})
	}
}

// TestAPortOfUnknownOwnerWaits while a client is served over IPC: it may be the same one.
func TestAPortOfUnknownOwnerWaits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1)[0]
		m.own(s.Port(), local.Process{UID: "1000"})
		opts := quick(s.Port())
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.True)
		has(t, s, devices.True)
		eventually(t, "one serves, one waits", func() bool {
			st := h.Status().Sessions
			return len(st) == 2 && st[0].State == Ready && st[0].Transport == IPC && st[1].State == Waiting
		})
		for _, p := range s.Payloads() {
			require.Equal(t, fakeserver.IPC, p.Transport)
		}
		h.publish(devices.False)
		has(t, s, devices.False)
	})
}

// TestTheSocketIsPreferredOnceItIsThere: a client opens its port a moment before its socket.
func TestTheSocketIsPreferredOnceItIsThere(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		hidden := m.elsewhere()
		s := desktops(t, hidden, 1, func(o *fakeserver.Options) { o.Origins = nil; o.Profile = fakeserver.Documented })[0]
		m.own(s.Port(), local.Process{PID: 100, UID: "1000"})
		opts := m.quick(s.Port())
		opts.Local, opts.Origin = m, origin
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "over WebSocket", func() bool { return h.session().State == Ready && h.session().Transport == WebSocket })

		path := m.socket(0)
		m.own(path, local.Process{PID: 100, UID: "1000"})
		m.link(s.IPCPath(), path)
		m.appear()
		eventually(t, "over IPC", func() bool { return h.session().State == Ready && h.session().Transport == IPC })
		require.Len(t, h.Status().Sessions, 1)
		require.NotEmpty(t, s.Devices(), "it was not told that the devices are gone")
		for _, p := range s.Payloads() {
			require.NotEmpty(t, p.Devices)
		}
	})
}

func TestWhatIsNoSocketIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what has a pipe's name is a pipe")
	}
	onSockets(t, func(t *testing.T, m *machine) {
		require.NoError(t, os.WriteFile(m.socket(0), []byte("x"), 0o600))
		h := m.start(Options{ClientID: clientID, Ports: m.freePorts(1), Local: m})
		eventually(t, "a note", func() bool {
			return strings.Contains(strings.Join(health.English.Phrases(h.Status().Notes), "\n"), "discord-ipc-0 is no socket")
		})
		require.Equal(t, Searching, h.Status().State)
	})
}

// TestOnExit shows what each policy leaves in the client.
func TestOnExit(t *testing.T) {
	t.Parallel()
	for policy, left := range map[ExitPolicy]int{ExitClear: 0, ExitUnmute: 2, ExitLeave: 2} {
		t.Run(string(policy), func(t *testing.T) {
			everywhere(t, func(t *testing.T, m *machine) {
				s := desktops(t, m, 1)[0]
				opts := m.quick(s.Port())
				opts.Local, opts.OnExit = m, policy
				h := m.start(opts)
				h.publish(devices.True)
				has(t, s, devices.True)
				eventually(t, "ready", func() bool { return h.Status().State == Ready })
				h.stop()
				require.Len(t, s.Devices(), left)
				if policy == ExitUnmute {
					require.Nil(t, s.Devices()[1].HardwareMute, "unknown is left out")
				}
				if policy == ExitLeave {
					require.True(t, *s.Devices()[1].HardwareMute)
				}
			})
		})
	}
}

// TestOnExitOverHTTPWithoutAToken: a farewell that would hang is not sent.
func TestOnExitOverHTTPWithoutAToken(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1, func(o *fakeserver.Options) { o.Refill = time.Hour })[0]
		opts := quick(s.Port())
		opts.Local, opts.Transports, opts.Tokens, opts.TokenEvery, opts.StopTimeout = m, only(HTTP), 2, time.Hour, patience
		h := m.start(opts)
		for _, mute := range []devices.Tri{devices.False, devices.True} {
			h.publish(mute)
			has(t, s, mute)
		}
		h.stop()
		require.Len(t, s.Payloads(), 2)
	})
}

// TestAListThatCannotBeTakenBackIsSaid: the client has ended the connection, and lets nobody connect when the agent stops.
func TestAListThatCannotBeTakenBackIsSaid(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1, func(o *fakeserver.Options) { o.Refill = time.Hour })[0]
		var log bytes.Buffer
		opts := quick(s.Port())
		opts.Local, opts.Transports, opts.Tokens, opts.TokenEvery = m, only(IPC), 1, time.Hour
		opts.Log = slog.New(slog.NewTextHandler(&log, nil))
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "ready", func() bool { return h.session().State == Ready })
		s.DropConnections()
		eventually(t, "it waits for a token", func() bool { return h.session().State == Connecting })
		h.stop()
		require.Len(t, s.Payloads(), 1)
		require.Contains(t, log.String(), `msg="the client keeps the last list: it could not be reached"`)
		require.Contains(t, log.String(), `reason="it accepts no connection yet"`)
	})
}
