package rpcclient

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link"
)

// neverEmptied requires that a client that had a list was never sent an empty one.
func neverEmptied(t *testing.T, s *fakeserver.Server) {
	t.Helper()
	for _, p := range s.Payloads()[1:] {
		require.NotEmpty(t, p.Devices, "payload %d over %s", p.Seq, p.Transport)
	}
}

// Over every transport another agent goes on, and fails, and the first goes on: the client's list is whole all the while.
func TestAnotherAgentGoesOn(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, WebSocket, HTTP} {
		for _, profile := range []fakeserver.Profile{fakeserver.Desktop, fakeserver.Documented} {
			if tr == WebSocket && profile == fakeserver.Desktop {
				continue // lets nobody in
			}
			t.Run(string(tr)+" "+string(profile), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *machine) {
					s := v.client(v.program(100), fakeserver.Options{Profile: profile, IPCDir: ipcDir, Bucket: 2, NoFingerprint: true})
					opts := Options{Transports: only(tr)}
					h := v.reporting(opts, devices.True, time.Minute)
					first := len(s.Payloads())
					next := v.successor(h, opts)
					pass(time.Minute)
					require.Equal(t, devices.True, mute(s))
					require.True(t, next.connected(), "%+v", next.session())
					next.publish(devices.False)
					pass(time.Minute)
					next.leave()
					h.publish(devices.True)
					h.Restore(next.KnownClients(), 0)
					h.run()
					pass(time.Minute)
					require.Equal(t, devices.True, mute(s))
					for _, p := range s.Payloads()[first:] {
						require.NotEmpty(t, p.Devices, "payload %d", p.Seq)
					}
					require.Zero(t, s.Stats().Waited, "nothing waits in the client's line")
					h.stop()
					require.Empty(t, s.Devices())
				})
			})
		}
	}
}

// leftClients have a list of an agent that is not there any more.
var leftClients = map[string]struct {
	client fakeserver.Options
	over   Transport
	before time.Duration // since that agent has connected
	hidden bool          // its port is in no table
}{
	"IPC":                {fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Bucket: 2}, IPC, time.Minute, false},
	"IPC, last token":    {fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Bucket: 2}, IPC, time.Second, false},
	"HTTP":               {fakeserver.Options{Profile: fakeserver.Desktop, Bucket: 10}, HTTP, time.Minute, false},
	"WebSocket":          {fakeserver.Options{Profile: fakeserver.Documented, Bucket: 2}, WebSocket, time.Second, false},
	"a hidden HTTP":      {fakeserver.Options{Profile: fakeserver.Desktop, Bucket: 10}, HTTP, time.Minute, true},
	"a hidden WebSocket": {fakeserver.Options{Profile: fakeserver.Documented, Bucket: 2}, WebSocket, time.Minute, true},
}

// atOnce is when an agent is told to stop that has just begun.
var atOnce = func() (all []time.Duration) {
	for _, n := range []time.Duration{0, 1, 50, 100, 150, 200, 300, 400, 500, 700, 1000, 10000} {
		all = append(all, n*time.Microsecond)
	}
	return all
}()

// An agent that goes on, and is told to stop before it has come to say anything, leaves nothing in the client: whatever that has cost, and
// wherever the client is.
func TestAnAgentThatGoesOnAndStopsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range leftClients {
		for _, after := range atOnce {
			t.Run(name+" after "+after.String(), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *machine) {
					if v.windows = c.hidden; c.hidden {
						v.unlisted = []int{6463}
					}
					s := v.client(v.program(100), c.client)
					opts := Options{Transports: only(c.over), Tokens: c.client.Bucket}
					h := v.start(opts)
					h.publish(devices.True)
					require.NoError(t, s.Wait(t.Context(), func(list []fakeserver.Device) bool { return len(list) > 0 }))
					pass(c.before)
					h = v.successor(h, opts)
					time.Sleep(after)
					h.stop()
					pass(time.Second)
					require.Empty(t, s.Devices())
				})
			})
		}
	}
}

// An agent that is told to stop before it has come to say anything, and whose predecessor was killed, leaves nothing in the client that it
// can see: neither where it knows no devices yet, nor with a mute that only the one before has known of.
func TestAnAgentThatStopsAtOnceAfterOneThatWasKilled(t *testing.T) {
	t.Parallel()
	for name, c := range leftClients {
		if c.hidden {
			continue
		}
		for _, after := range atOnce {
			t.Run(name+" after "+after.String(), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *machine) {
					s := v.client(v.program(100), c.client)
					opts := Options{Transports: only(c.over), Tokens: c.client.Bucket}
					killed := v.start(opts)
					killed.publish(devices.True)
					require.NoError(t, s.Wait(t.Context(), func(list []fakeserver.Device) bool { return len(list) > 0 }))
					pass(c.before)
					killed.leave()
					h := v.start(opts)
					time.Sleep(after)
					h.stop()
					pass(time.Second)
					require.Empty(t, s.Devices())
				})
			})
		}
	}
}

// The next agent counts what the one before it has spent: its connection and its lists wait here, not in the client's line.
func TestSpentTokensAreHandedOver(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
				opts := Options{Transports: only(tr)}
				h := v.reporting(opts, devices.True, time.Second)
				wait, slow := h.HandoverDelay()
				require.Zero(t, wait)
				require.Nil(t, slow)
				for _, m := range []devices.Tri{devices.False, devices.True, devices.False} {
					h = v.successor(h, opts)
					h.publish(m)
					pass(time.Second)
				}
				require.Zero(t, s.Stats().Waited)
				pass(2 * time.Minute)
				require.Equal(t, devices.False, mute(s))
				require.Zero(t, s.Stats().Waited)
				neverEmptied(t, s)
			})
		})
	}
}

// Whoever asks before the client has a token again is told how long that takes.
func TestAHandoverWaitsForATokenOfTheClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Second)
		h = v.successor(h, Options{})
		wait, _ := h.HandoverDelay()
		require.NotZero(t, wait, "it has yet to be connected to")
		pass(time.Second)
		wait, slow := h.HandoverDelay()
		require.InDelta(t, 28, wait.Seconds(), 1)
		require.Nil(t, slow)
		pass(wait)
		h = v.successor(h, Options{})
		h.publish(devices.False)
		pass(time.Second)
		require.Equal(t, devices.False, mute(s), "at once")
	})
}

// A client that is frozen with a list on its way takes its connections in any order when it goes on. What it has then is the newest.
func TestAHandoverInFrontOfAFrozenClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Minute)
		process.Freeze()
		h.publish(devices.False)
		pass(10 * time.Second)
		_, slow := h.HandoverDelay()
		require.NotNil(t, slow)
		h = v.successor(h, Options{})
		h.publish(devices.True)
		pass(10 * time.Second)
		process.Thaw()
		pass(time.Minute)
		require.Equal(t, devices.True, mute(s))
		require.Equal(t, Ready, h.session().State)
		neverEmptied(t, s)
	})
}

// What a client refuses for as long as it runs is not tried again, and one that is waited with is not tried sooner.
func TestRefusalsAreHandedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client fakeserver.Options
		rpc    Options
		state  State
	}{
		"a transport": {
			client: fakeserver.Options{Profile: fakeserver.Desktop, Bucket: 1000},
			rpc:    Options{Origin: origin, Transports: []Transport{WebSocket, HTTP}}, state: Degraded,
		},
		"the command": {
			client: fakeserver.Options{
				Profile: fakeserver.Desktop, IPCDir: ipcDir, Fault: fakeserver.Fault{Kind: fakeserver.FaultError, Code: link.CodeUnknownCommand},
			},
			state: Unsupported,
		},
		"the application, for now": {
			client: fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Fault: fakeserver.Fault{Kind: fakeserver.FaultOffline}},
			state:  Refused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), c.client)
				h := v.reporting(c.rpc, devices.True, 2*time.Second)
				require.Equal(t, c.state, h.session().State, "%+v", h.session())
				before, spent := h.session(), s.Stats().Spent
				var seen eventCounts
				c.rpc.OnEvent = seen.count
				h = v.successor(h, c.rpc)
				pass(5 * time.Second)
				if c.state == Degraded { // its tokens are spent
					pass(30 * time.Second)
				}
				require.Equal(t, c.state, h.session().State)
				require.Empty(t, seen.all()[ConnectionRefused])
				if c.state != Degraded {
					require.Equal(t, spent, s.Stats().Spent)
					require.Equal(t, before.Reason, h.session().Reason)
				}
				pass(time.Minute)
				require.Equal(t, c.state, h.session().State, "%+v", h.session())
			})
		})
	}
}

// One that refuses every transport is shown as refusing, and not as one that does not know the command.
func TestThatAClientRefusesIsHandedOver(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, Bucket: 1000})
		opts := Options{Origin: "https://other.example", Transports: only(WebSocket)}
		h := v.reporting(opts, devices.True, 2*time.Second)
		before, spent := h.session(), s.Stats().Spent
		require.Equal(t, Refused, before.State)
		h = v.successor(h, opts)
		pass(5 * time.Second)
		require.Equal(t, Refused, h.session().State)
		require.Equal(t, before.Reason.Code, h.session().Reason.Code)
		require.Equal(t, spent, s.Stats().Spent)
	})
}

// Where one client is to be served it stays the same: the other would be left with what it has.
func TestTheNextAgentServesTheSameClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		second := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Documented, Ports: []int{6464}})
		opts := Options{Clients: FirstClient}
		h := v.reporting(opts, devices.True, time.Second)
		require.Equal(t, devices.True, mute(second))
		first := v.client(v.program(200), fakeserver.Options{Profile: fakeserver.Documented, Ports: []int{6463}})
		pass(time.Minute)
		next := v.successor(h, opts)
		pass(time.Second)
		next.publish(devices.False)
		pass(time.Minute)
		require.Equal(t, devices.False, mute(second))
		require.Empty(t, first.Devices())
		next.stop()
		require.Empty(t, second.Devices())
	})
}

// A client whose port does not tell whose it is has its proof before another agent goes on: each one that is given up costs a token.
func TestAHandoverWaitsForAProof(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.client(v.program(100), fakeserver.Options{
			Profile: fakeserver.Desktop, NoFingerprint: true,
			Fault: fakeserver.Fault{Kind: fakeserver.FaultAnswerLate, Delay: 400 * time.Millisecond},
		})
		h := v.reporting(Options{Transports: only(HTTP)}, devices.True, 100*time.Millisecond)
		wait, _ := h.HandoverDelay()
		require.NotZero(t, wait)
		pass(time.Minute)
		wait, _ = h.HandoverDelay()
		require.Zero(t, wait, "%+v", h.session())
	})
}

// The clock on the wall may be set between two agents.
func TestWhatIsHandedOverDoesNotDependOnTheWallClock(t *testing.T) {
	for name, opts := range map[string]fakeserver.Options{
		"a token": {Profile: fakeserver.Desktop, IPCDir: ipcDir},
		"a wait":  {Profile: fakeserver.Desktop, IPCDir: ipcDir, Fault: fakeserver.Fault{Kind: fakeserver.FaultOffline}},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.client(v.program(100), opts)
				h := v.reporting(Options{}, devices.True, 2*time.Second)
				h.leave()
				known := h.KnownClients()
				require.Len(t, known, 1)
				require.NotZero(t, known[0].TokensIn+known[0].RetryIn)
				for _, by := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
					seen := slices.Clone(known)
					for i := range seen {
						seen[i].TokensFull = seen[i].TokensFull.Add(-by)
						if seen[i].Status != nil {
							seen[i].Status = new(*seen[i].Status)
							seen[i].Status.NextTry = seen[i].Status.NextTry.Add(-by)
						}
					}
					next := New(Options{})
					next.Restore(seen, time.Second)
					for i, k := range next.KnownClients() {
						require.Equal(t, known[i].TokensFull.Add(-time.Second), k.TokensFull)
						if k.Status != nil {
							require.Equal(t, known[i].Status.NextTry.Add(-time.Second), k.Status.NextTry)
						}
					}
				}
			})
		})
	}
}

// A clock that was set back while an older agent ran makes no client wait longer than it might have to.
func TestWhatIsHandedOverOutlivesAClockThatIsSetBack(t *testing.T) {
	for name, opts := range map[string]fakeserver.Options{
		"a token": {Profile: fakeserver.Desktop, IPCDir: ipcDir},
		"a wait":  {Profile: fakeserver.Desktop, IPCDir: ipcDir, Fault: fakeserver.Fault{Kind: fakeserver.FaultOffline}},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), opts)
				h := v.reporting(Options{}, devices.True, 2*time.Second)
				h.leave()
				require.NoError(t, s.SetFault(fakeserver.Fault{}))
				all := h.KnownClients()
				for i := range all {
					all[i].TokensFull, all[i].TokensIn, all[i].RetryIn = time.Now().Add(24*time.Hour), 0, 0
					if all[i].Status != nil {
						all[i].Status.NextTry = all[i].TokensFull
					}
				}
				next := v.start(Options{})
				next.Restore(all, 0)
				next.publish(devices.True)
				pass(6 * time.Minute)
				require.Equal(t, Ready, next.session().State, "%+v", next.session())
			})
		})
	}
}

// What was learnt of a client says nothing of the one that runs in its place.
func TestNothingIsHandedOverOfAClientThatRestarts(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		v.client(process, fakeserver.Options{
			Profile: fakeserver.Desktop, IPCDir: ipcDir, Fault: fakeserver.Fault{Kind: fakeserver.FaultError, Code: link.CodeUnknownCommand},
		})
		h := v.reporting(Options{}, devices.True, 2*time.Second)
		h.leave()
		process.Kill()
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		next := v.start(Options{})
		next.Restore(h.KnownClients(), 0)
		next.publish(devices.True)
		pass(2 * time.Second)
		require.Equal(t, devices.True, mute(s))
	})
}

// A client that has ended meanwhile is in nobody's way.
func TestAClientThatEndsDuringAHandoverIsNotWaitedFor(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Minute)
		h.leave()
		process.Kill()
		next := v.start(Options{})
		next.Restore(h.KnownClients(), 0)
		pass(time.Minute)
		wait, slow := next.HandoverDelay()
		require.Zero(t, wait)
		require.Nil(t, slow)
	})
}
