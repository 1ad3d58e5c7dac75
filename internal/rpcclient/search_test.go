package rpcclient

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
)

// Without a client the search becomes seldom: clients with a socket, as all that users run, are
// noticed by an event.
func TestTheSearchSlowsDown(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		h := v.start(Options{})
		h.publish(devices.True)
		looks := func(d time.Duration) int {
			before := v.looked()
			pass(d)
			return v.looked() - before
		}
		require.Greater(t, looks(time.Minute), 8, "quick at first")
		pass(3 * time.Minute)
		slow := looks(time.Hour)
		require.LessOrEqual(t, slow, 2*60)
		require.GreaterOrEqual(t, slow, 60)

		h.Resend()
		require.Greater(t, looks(time.Minute), 8, "quick again after a resume")
		pass(time.Hour)

		process := v.program(100)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		pass(100 * time.Millisecond)
		require.Equal(t, devices.True, mute(s), "a new socket is an event")
		pass(time.Minute)
		require.LessOrEqual(t, looks(time.Hour), 1, "no search while a client is served")

		process.Kill()
		pass(time.Second)
		require.Empty(t, h.Status().Sessions)
		require.Greater(t, looks(time.Minute), 8, "quick again without it: it may be back in a moment")
		pass(3 * time.Minute)
		require.LessOrEqual(t, looks(time.Hour), 2*60)
	})
}

// Nothing tells of a new port, so that a client without a socket is only found by looking: while another
// one is served, soon after there is something to tell.
func TestAClientWithoutASocketIsFoundBesideAnother(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		first := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.start(Options{})
		value := devices.True
		for pid := 200; pid < 203; pid++ {
			h.publish(value)
			pass(time.Hour)
			process := v.program(pid)
			second := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, Ports: []int{6464}})
			value = value.Not()
			h.publish(value)
			pass(time.Second)
			require.Equal(t, value, mute(second), "after an hour of quiet at once")
			process.Kill()
			pass(20 * time.Second)
			require.Len(t, h.Status().Sessions, 1)

			process = v.program(pid + 50)
			second = v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, Ports: []int{6464}})
			value = value.Not()
			h.publish(value)
			pass(newListInterval + time.Second)
			require.Equal(t, value, mute(second), "else a little later")
			require.Len(t, h.Status().Sessions, 2)
			process.Kill()
			pass(time.Minute)
			value = value.Not()
		}
		require.Equal(t, h.Status().Sessions[0].PID, 100)
		require.NotEmpty(t, first.Payloads())
	})
}

// Who uses no port looks for none.
func TestNobodyLooksForPortsThatAreNotUsed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		v.reporting(Options{Transports: []Transport{IPC}}, devices.True, time.Minute)
		before := v.looked()
		pass(time.Hour)
		require.Equal(t, before, v.looked())
	})
}

// Where nothing tells of new sockets, looking is the only way to find them.
func TestTheSearchStaysQuickWhereNothingTellsOfSockets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{ClientID: clientID, Local: noLocal{}})
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { defer close(done); c.Run(ctx) }()
		pass(time.Hour)
		require.LessOrEqual(t, time.Until(c.Status().NextTry), 6*time.Second)
		cancel()
		<-done
	})
}

// Lists are sent again from time to time where that is wanted.
func TestListsAreSentAgainFromTimeToTime(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration]int{0: 1, 10 * time.Minute: 1 + 5} {
		t.Run(every.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
				h := v.reporting(Options{ResendEvery: every}, devices.True, time.Hour-time.Minute)
				require.Len(t, s.Payloads(), want)
				h.Reconfigure(v.complete(h, Options{ResendEvery: time.Minute}))
				pass(10*time.Minute + time.Second)
				require.Len(t, s.Payloads(), want+10)
			})
		})
	}
}

// A client whose tokens another agent has spent lets a handshake wait in its line.
func TestWhoWaitsInTheLineIsServed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		for range 2 {
			conn, _, err := v.Dial(t.Context(), s.IPCPath())
			require.NoError(t, err)
			other, err := link.OpenIPC(t.Context(), conn, clientID)
			require.NoError(t, err)
			other.Close()
		}
		h := v.reporting(Options{}, devices.True, 29*time.Second)
		require.Equal(t, Connecting, h.session().State)
		require.Equal(t, 1, s.Stats().Queued)
		pass(2 * time.Second)
		require.Equal(t, devices.True, mute(s))
		require.Equal(t, Ready, h.session().State)
	})
}

// An agent that was killed twice at once has left no token for the third: that one is served as soon
// as there is one, over the socket, and says meanwhile what is happening.
func TestAnAgentThatWasKilledTwiceIsServedWithTheNextToken(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		for range 2 {
			h := v.reporting(Options{}, devices.True, 400*time.Millisecond)
			require.Equal(t, Ready, h.session().State)
			v.me.Kill()
			h.stop()
			v.me = v.Process(local.Process{PID: 1, UID: someUser, Name: "sidetone"})
		}
		h := v.reporting(Options{}, devices.False, 11*time.Second)
		require.Equal(t, Connecting, h.session().State)
		pass(20 * time.Second)
		require.Equal(t, devices.False, mute(s))
		require.Equal(t, IPC, h.session().Transport)
	})
}
