package rpcclient

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/memnet"
)

// inSandbox is where the client behind a relay listens. The agent does not look there.
const inSandbox = "/sandbox"

// forkingRelay starts what 'socat UNIX-LISTEN:...,fork UNIX-CONNECT:...' does: it accepts first, connects then, and closes if nobody
// listens there. It returns how many connections it has accepted.
func (m *machine) forkingRelay(p *memnet.Process) *atomic.Int64 {
	m.t.Helper()
	l, _, err := p.ListenIPC(ipcDir)
	require.NoError(m.t, err)
	accepted := new(atomic.Int64)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			wg.Go(func() {
				defer near.Close()
				far, _, err := p.DialIPC(m.t.Context(), inSandbox+"/discord-ipc-0")
				if err != nil {
					return
				}
				wg.Go(func() { copyAll(far, near) })
				copyAll(near, far)
			})
		}
	})
	m.t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return accepted
}

func copyAll(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// As in the Flatpak of Discord, whose relay outlives its client. 2 s are from the client's READY to its list.
func TestAClientBehindARelayHasItsListSoonAfterEachRestart(t *testing.T) {
	for _, away := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 6 * time.Second, 20 * time.Second, 2 * time.Minute} {
		t.Run(away.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.forkingRelay(v.program(200))
				h := v.reporting(Options{Jitter: func() float64 { return 0.999 }}, devices.True, away)
				for range 5 {
					s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: inSandbox, NoTCP: true})
					pass(2 * time.Second)
					require.Equal(t, devices.True, mute(s))
					require.Equal(t, Ready, h.session().State)
					pass(8 * time.Second)
					s.Stop()
					pass(away)
				}
			})
		})
	}
}

// What one client has answered says nothing of the next one behind the same relay: a program that does not know the command is no client
// that is busy and may hold a mute.
func TestTheNextClientBehindARelayIsAnotherOne(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.lineages[200] = local.Lineage{Exe: "/usr/bin/socat", Parents: []int{1}, Started: 4711}
		v.forkingRelay(v.program(200))
		h := v.start(Options{})
		h.publish(devices.True)
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: inSandbox, NoTCP: true})
		pass(2 * time.Second)
		require.Equal(t, Ready, h.session().State)
		s.Stop()
		pass(5 * time.Second)
		v.client(v.program(101), fakeserver.Options{Profile: fakeserver.ArRPC, IPCDir: inSandbox, NoTCP: true})
		pass(time.Minute)
		require.Equal(t, Unsupported, h.session().State)
		require.Empty(t, h.session().Muted)
	})
}

// Nothing else shows that the program behind a relay is another one than that which was given up.
func TestAClientBehindARelayAfterAProgramThatDoesNotKnowTheCommandIsServed(t *testing.T) {
	for _, silent := range []time.Duration{time.Second, time.Minute} {
		t.Run(silent.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.forkingRelay(v.program(200))
				h := v.start(Options{})
				h.publish(devices.True)
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.ArRPC, IPCDir: inSandbox, NoTCP: true})
				pass(silent)
				s.Stop()
				pass(5 * time.Second)
				s = v.client(v.program(101), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: inSandbox, NoTCP: true})
				pass(2 * time.Second)
				require.Equal(t, devices.True, mute(s))
				require.Equal(t, Ready, h.session().State)
			})
		})
	}
}

// A relay may be left without a client for ever.
func TestARelayWithoutAClientIsTriedSeldomInTheLongRun(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		accepted := v.forkingRelay(v.program(200))
		h := v.reporting(Options{}, devices.True, 4*time.Minute)
		require.Less(t, accepted.Load(), int64(150))
		before := accepted.Load()
		pass(10 * time.Minute)
		require.LessOrEqual(t, accepted.Load()-before, int64(21))
		require.Equal(t, Connecting, h.session().State)
	})
}

// The start script of a package starts the relay and then the client, which opens its port, too.
func startedByAScript(v *machine) {
	const script, panel = 50, 20
	v.lineages[100] = local.Lineage{Exe: "/app/discord/Discord", Parents: []int{script, panel, 1}, Starters: []int{script}}
	v.lineages[200] = local.Lineage{Exe: "/app/bin/socat", Parents: []int{script, panel, 1}, Starters: []int{script}}
}

func TestAClientAndTheRelayBesideItAreOne(t *testing.T) {
	for _, after := range []time.Duration{0, 3 * time.Second, 4 * time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				startedByAScript(v)
				v.forkingRelay(v.program(200))
				h := v.start(Options{})
				h.publish(devices.True)
				pass(after)
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: inSandbox})
				h.Resend() // has its port looked for
				pass(2 * time.Second)
				require.Equal(t, devices.True, mute(s))
				for _, m := range []devices.Tri{devices.False, devices.True, devices.False, devices.True, devices.False} {
					h.publish(m)
					pass(100 * time.Millisecond)
					require.Equal(t, m, mute(s))
				}
				pass(time.Minute)
				require.Equal(t, devices.False, mute(s), "nothing older was in its queue")
				st := h.Status().Sessions
				require.Len(t, st, 2)
				require.Equal(t, Ready, st[0].State)
				require.Equal(t, IPC, st[0].Transport)
				require.Equal(t, Waiting, st[1].State)
			})
		})
	}
}

// A relay that was left behind hides no client.
func TestAClientBesideARelayThatLeadsNowhereIsServedOverItsPort(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		startedByAScript(v)
		v.forkingRelay(v.program(200))
		h := v.reporting(Options{}, devices.True, 5*time.Second)
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop})
		h.Resend()
		pass(2 * time.Second)
		require.Equal(t, devices.True, mute(s))
		h.publish(devices.False)
		pass(time.Minute)
		require.Equal(t, devices.False, mute(s))
	})
}

// Stable and PTB, started by one panel, or in one terminal: one has only its socket, the other only its port.
func TestTwoClientsOfOneStarterGetEveryChangeAtOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		const panel = 20
		v.lineages[100] = local.Lineage{Exe: "/opt/discord/Discord", Parents: []int{panel, 1}}
		v.lineages[200] = local.Lineage{Exe: "/opt/discord-ptb/DiscordPTB", Parents: []int{panel, 1}}
		socket, port := relay(t, v)
		h := v.reporting(Options{}, devices.True, time.Minute)
		for _, m := range []devices.Tri{devices.False, devices.True} {
			h.publish(m)
			pass(time.Second)
			require.Equal(t, m, mute(socket))
			require.Equal(t, m, mute(port))
			pass(time.Minute) // over HTTP there are two tokens
		}
	})
}
