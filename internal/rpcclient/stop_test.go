package rpcclient

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link/linktest"
)

// A client that has ended the connection, and is not connected to again at the moment of the end,
// is reached for its farewell if it can be in time.
func TestAClientThatWasJustLostIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	for policy, want := range map[ExitPolicy]int{ExitClear: 0, ExitUnmute: 2, ExitLeave: 2} {
		for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
			t.Run(string(policy), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *machine) {
					s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
					h := v.reporting(Options{OnExit: policy}, devices.True, time.Second)
					s.DropConnections()
					pass(wait)
					start := time.Now()
					h.stop()
					require.LessOrEqual(t, time.Since(start), DefaultOptions.StopTimeout)
					require.Len(t, s.Devices(), want)
					require.Equal(t, policy == ExitLeave, mute(s) == devices.True)
				})
			})
		}
	}
}

// Nobody is waited for who cannot be reached in time.
func TestTheEndDoesNotWaitForATokenOrForWhoIsFrozen(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Second)
		s.DropConnections()
		pass(time.Second)
		s.DropConnections() // the second token is spent
		pass(50 * time.Millisecond)
		start := time.Now()
		h.stop()
		require.LessOrEqual(t, time.Since(start), DefaultOptions.StopTimeout)
	})
}

// lateGreeting has a client greet so late that an agent which has just begun is told to stop before.
func lateGreeting(t *testing.T, s *fakeserver.Server) {
	t.Helper()
	require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultReadyLate, Delay: 300 * time.Millisecond}))
}

// Where nothing but the end is left to do, as for 'sidetone empty', whoever has not taken the empty list is told of.
func TestNothingButTheEnd(t *testing.T) {
	t.Parallel()
	for fault, keep := range map[fakeserver.FaultKind]int{fakeserver.FaultNone: 0, fakeserver.FaultReadyNever: 1, fakeserver.FaultNoAnswer: 1} {
		t.Run(string(fault), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
				v.reporting(Options{}, devices.True, time.Second).leave()
				require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fault}))
				c := New(v.complete(new(harness), Options{}))
				c.LeaveWith(ExitClear)
				ended, end := context.WithCancel(t.Context())
				end()
				c.Run(ended)
				require.Equal(t, keep, c.KeepLists())
				require.Equal(t, keep > 0, len(s.Devices()) > 0)
			})
		})
	}
}

// A link in the making is waited for. There is no other, and nothing is known of what an agent that was killed has told the client.
func TestTheEndWaitsForTheLinkInTheMaking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		profile fakeserver.Profile
		over    Transport
	}{
		"IPC":       {fakeserver.Desktop, IPC},
		"WebSocket": {fakeserver.Documented, WebSocket},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: c.profile, IPCDir: ipcDir, Bucket: 2})
				opts := Options{Transports: only(c.over), Tokens: 2}
				h := v.start(opts)
				h.publish(devices.True)
				pass(time.Second)
				require.Equal(t, devices.True, mute(s))
				lateGreeting(t, s)
				h.leave()
				h = v.start(opts)
				pass(100 * time.Millisecond)
				h.stop()
				require.Empty(t, s.Devices())
			})
		})
	}
}

// An agent that is to leave the devices without their mutes, and has told a client none yet, may come after one that was killed, and has
// left a mute there.
func TestNoMuteIsLeftByAnAgentThatWasKilled(t *testing.T) {
	t.Parallel()
	for policy, want := range map[ExitPolicy]devices.Tri{ExitUnmute: devices.Unknown, ExitLeave: devices.True} {
		t.Run(string(policy), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
				killed := v.start(Options{OnExit: policy})
				killed.publish(devices.True)
				pass(time.Second)
				killed.leave()
				h := v.start(Options{OnExit: policy})
				pass(100 * time.Millisecond)
				h.stop()
				require.Equal(t, want, mute(s))
			})
		})
	}
}

// Nor for one that waits for its turn behind another, from a moment after the agent was told to stop.
func TestTheEndDoesNotWaitForWhoWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts   Options
		answer string // of the port
	}{
		"another client is served":               {Options{Clients: FirstClient}, linktest.Fingerprint},
		"it may be the same client":              {Options{}, linktest.Fingerprint},
		"to ask for proof may be a list to that": {Options{}, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				const late = 100 * time.Millisecond
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
				h := v.reporting(c.opts, devices.True, time.Minute)
				port := v.page(v.program(200), 6463, func(conn net.Conn, _ *http.Request) {
					time.Sleep(late)
					replyTo(conn, "404 Not Found", c.answer)
				})
				h.Resend() // it looks closely
				pass(late / 2)
				start := time.Now()
				h.stop()
				require.LessOrEqual(t, time.Since(start), late)
				require.Empty(t, s.Devices())
				require.Equal(t, []string{"GET /"}, port.requests())
			})
		})
	}
}
