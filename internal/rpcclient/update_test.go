package rpcclient

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// neverEmptied requires that a client that had a list was never sent an empty one.
func neverEmptied(t *testing.T, s *fakeserver.Server) {
	t.Helper()
	for _, p := range s.Payloads()[1:] {
		require.NotEmpty(t, p.Devices, "payload %d over %s", p.Seq, p.Transport)
	}
}

// Over every transport an agent makes way for the next one: the client's list is never empty, and has no mute until that says so.
func TestAnAgentMakesWay(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, WebSocket, HTTP} {
		for _, profile := range []fakeserver.Profile{fakeserver.Desktop, fakeserver.Documented} {
			if tr == WebSocket && profile == fakeserver.Desktop {
				continue // lets nobody in
			}
			for policy := range map[ExitPolicy]bool{ExitClear: true, ExitUnmute: true, ExitLeave: true} {
				t.Run(string(tr)+" "+string(profile)+" "+string(policy), func(t *testing.T) {
					inVirtualTime(t, func(t *testing.T, v *machine) {
						s := v.client(v.program(100), fakeserver.Options{Profile: profile, IPCDir: ipcDir, Bucket: 2})
						opts := Options{Transports: only(tr), OnExit: policy, Memory: &note{}}
						for _, m := range []devices.Tri{devices.True, devices.False, devices.True} {
							h := v.reporting(opts, m, 2*time.Minute)
							require.Equal(t, m, mute(s))
							require.Zero(t, h.ConnectDelay())
							h.update()
							require.Len(t, s.Devices(), 2)
							require.Equal(t, devices.Unknown, mute(s), "nobody watches it")
						}
						neverEmptied(t, s)
						require.Zero(t, s.Stats().Waited, "nothing waits in the client's line")
					})
				})
			}
		}
	}
}

// leftClients have a list of an agent that is not there any more.
var leftClients = map[string]struct {
	client fakeserver.Options
	over   Transport
	before time.Duration // since that agent has connected
}{
	"IPC":             {fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Bucket: 2}, IPC, time.Minute},
	"IPC, last token": {fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Bucket: 2}, IPC, time.Second},
	"HTTP":            {fakeserver.Options{Profile: fakeserver.Desktop, Bucket: 10}, HTTP, time.Minute},
	"WebSocket":       {fakeserver.Options{Profile: fakeserver.Documented, Bucket: 2}, WebSocket, time.Second},
}

// atOnce is when an agent is told to stop that has just begun.
var atOnce = func() (all []time.Duration) {
	for _, n := range []time.Duration{0, 1, 50, 100, 150, 200, 300, 400, 500, 700, 1000, 10000} {
		all = append(all, n*time.Microsecond)
	}
	return all
}()

// An agent that is told to stop before it has come to say anything, and whose predecessor was killed, leaves nothing in the client that it
// can see: neither where it knows no devices yet, nor with a mute that only the one before has known of.
func TestAnAgentThatStopsAtOnceAfterOneThatWasKilled(t *testing.T) {
	t.Parallel()
	for name, c := range leftClients {
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

// The next agent counts what the one before it has spent, also one that was killed: its connection and its lists wait here, not in the
// client's line.
func TestSpentTokensAreRemembered(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
				opts := Options{Transports: only(tr), Memory: &note{}}
				h := v.reporting(opts, devices.True, time.Second)
				for _, m := range []devices.Tri{devices.False, devices.True, devices.False} {
					h.leave()
					h = v.reporting(opts, m, time.Second)
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

// Whoever is about to make way is told how long it takes until the client has a token again.
func TestMakingWayWaitsForATokenOfTheClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		opts := Options{Memory: &note{}}
		h := v.reporting(opts, devices.True, time.Second)
		require.Zero(t, h.ConnectDelay())
		h.update()
		h = v.reporting(opts, devices.True, time.Second)
		wait := h.ConnectDelay()
		require.InDelta(t, 28, wait.Seconds(), 1)
		pass(wait)
		h.update()
		v.reporting(opts, devices.False, time.Second)
		require.Equal(t, devices.False, mute(s), "at once")
	})
}

// A client that is frozen takes its connections in any order when it goes on. What it has then is the newest.
func TestMakingWayInFrontOfAFrozenClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		opts := Options{Memory: &note{}}
		h := v.reporting(opts, devices.True, time.Minute)
		process.Freeze()
		h.publish(devices.False)
		pass(10 * time.Second)
		h.update()
		h = v.reporting(opts, devices.True, 2*time.Second)
		process.Thaw()
		pass(time.Minute)
		require.Equal(t, devices.True, mute(s))
		require.Equal(t, Ready, h.session().State)
		neverEmptied(t, s)
	})
}

// The clock on the wall may be set while no agent runs: no client waits longer than it might have to.
func TestRememberedTokensOutliveAClockThatIsSet(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
				kept := &note{}
				v.reporting(Options{Memory: kept}, devices.True, 2*time.Second).update()
				var known []knownClient
				require.NoError(t, json.Unmarshal(kept.text, &known))
				require.NotZero(t, known[0].TokensFull)
				known[0].TokensFull = known[0].TokensFull.Add(-by)
				text, err := json.Marshal(known)
				require.NoError(t, err)
				require.NoError(t, kept.Write(text))
				next := v.reporting(Options{Memory: kept}, devices.True, 2*time.Minute)
				require.Equal(t, Ready, next.session().State, "%+v", next.session())
			})
		})
	}
}
