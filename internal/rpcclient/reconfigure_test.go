package rpcclient

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link/linktest"
)

// Reloads change times while a client is served: it is told of each change all the while, over the
// one link, and of the end.
func TestReloadsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, WebSocket} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Documented, IPCDir: ipcDir, Bucket: 2})
				opts := Options{Transports: only(tr)}
				h := v.reporting(opts, devices.True, time.Second)
				for i, m := range []devices.Tri{devices.False, devices.True, devices.False, devices.True} {
					opts.AnswerTimeout = time.Duration(4+i) * time.Second
					h.Reconfigure(v.complete(h, opts))
					pass(600 * time.Millisecond)
					h.publish(m)
					pass(10 * time.Millisecond)
					require.Equal(t, m, mute(s))
				}
				opts.RetryMax = 7 * time.Second
				h.Reconfigure(v.complete(h, opts))
				h.stop()
				require.Empty(t, s.Devices())
				require.Equal(t, 1, s.Stats().Spent, "one link")
			})
		})
	}
}

// What a list may take changes for the next list, and not for the one in flight.
func TestANewTimeoutHoldsAtOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Second)
		h.Reconfigure(v.complete(h, Options{AnswerTimeout: time.Second}))
		synctest.Wait()
		process.Freeze()
		h.publish(devices.False)
		pass(2 * time.Second)
		require.Equal(t, Slow, h.session().State)
		process.Thaw()
	})
}

// Several reloads and the end come before the first of them was taken.
func TestReloadsAndTheEndAtOneMoment(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Second)
		h.Reconfigure(v.complete(h, Options{Transports: only(HTTP)}))
		h.Reconfigure(v.complete(h, Options{TokenEvery: time.Minute}))
		h.Reconfigure(v.complete(h, Options{Transports: only(HTTP)}))
		h.stop()
		require.Empty(t, s.Devices())
	})
}

// Settings that leave out what a session uses let it go only when there is another link.
func TestANewTransportIsThereBeforeTheOldOneGoes(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Documented, IPCDir: ipcDir, Bucket: 2})
		opts := Options{Transports: only(IPC), Origin: origin}
		h := v.reporting(opts, devices.True, time.Second)
		for i, tr := range []Transport{WebSocket, IPC} { // the first takes the second token, the next has to wait for one
			opts.Transports = only(tr)
			h.Reconfigure(v.complete(h, opts))
			for range 50 {
				pass(time.Second)
				m := devices.Of(i%2 == 0)
				i++
				h.publish(m)
				pass(10 * time.Millisecond)
				require.Equal(t, m, mute(s), "at any moment a change is told at once")
			}
			require.Equal(t, tr, h.session().Transport)
		}
		require.Zero(t, s.Stats().Waited)
		for _, p := range s.Payloads() {
			require.NotEmpty(t, p.Devices, "it is never told that the devices are gone")
		}
		opts.Transports = only(WebSocket)
		h.Reconfigure(v.complete(h, opts))
		pass(time.Second)
		h.stop()
		require.Empty(t, s.Devices(), "the farewell goes over the old link")
	})
}

// A client that the settings leave out is told that the devices are gone.
func TestWhatTheSettingsLeaveOutIsToldSo(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *Options){
		"another port":      func(o *Options) { o.Ports = []int{6470} },
		"sockets alone":     func(o *Options) { o.Transports = only(IPC) },
		"the first alone":   func(o *Options) { o.Clients = FirstClient },
		"another client id": func(o *Options) { o.ClientID = clientID + "1" },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				first := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Ports: []int{6464}})
				s := v.client(v.program(200), fakeserver.Options{Profile: fakeserver.Documented, Ports: []int{6463}})
				h := v.reporting(Options{Origin: origin}, devices.True, time.Second)
				require.Equal(t, devices.True, mute(s))
				o := v.complete(h, Options{Origin: origin})
				change(&o)
				h.Reconfigure(o)
				pass(time.Second)
				require.Empty(t, s.Devices())
				if name != "another client id" {
					require.Equal(t, devices.True, mute(first))
				}
			})
		})
	}
}

// A client that is served over HTTP opens its socket when there is no token for it. Until there is
// one, it is served as before, and told of the end.
func TestASocketWaitsForItsTokenWhileHTTPGoesOn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		port := v.page(process, 6463, func(c net.Conn, r *http.Request) {
			if r.Method == http.MethodGet {
				replyTo(c, "404 Not Found", linktest.Fingerprint)
				return
			}
			replyTo(c, "200 OK", accept(r.Header.Get("X-Nonce")))
		})
		h := v.reporting(Options{}, devices.True, time.Second)
		h.publish(devices.False)
		pass(time.Second)
		lists := func() int { return strings.Count(strings.Join(port.requests(), "\n"), "POST") }
		require.Equal(t, 2, lists(), "both tokens are spent")
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		h.publish(devices.True)
		pass(10 * time.Second)
		require.Equal(t, HTTP, h.session().Transport, "its link is kept")
		require.Equal(t, Degraded, h.session().State)
		pass(20 * time.Second)
		require.Equal(t, devices.True, mute(s), "the token is for the socket")
		require.Equal(t, 2, lists())
		require.Equal(t, Ready, h.session().State)
		require.Len(t, h.Status().Sessions, 1)
	})
}

// A client that has no other proof than its answer to an empty list keeps what it has when a better transport is tried.
func TestATryOfABetterTransportTakesNoListAway(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, NoFingerprint: true})
		h := v.reporting(Options{Transports: []Transport{HTTP}}, devices.True, time.Minute)
		require.Equal(t, devices.True, mute(s))
		h.Reconfigure(v.complete(h, Options{Transports: []Transport{WebSocket, HTTP}}))
		for range 20 {
			pass(time.Minute)
			require.Equal(t, devices.True, mute(s))
		}
	})
}

// New settings come while a list is on its way, twice: the link that the first have made is not left open. The end of the
// bubble shows it.
func TestTheNewestSettingsSayWhichLinkIsNext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Documented, IPCDir: ipcDir})
		h := v.reporting(Options{Tokens: 1000, Transports: []Transport{HTTP}}, devices.False, time.Minute)
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultAnswerLate, Delay: 8 * time.Second, Transport: fakeserver.HTTP}))
		h.publish(devices.True)
		pass(time.Second)
		for _, tr := range []Transport{WebSocket, IPC} {
			h.Reconfigure(v.complete(h, Options{Tokens: 1000, Transports: []Transport{tr, HTTP}}))
			pass(time.Second)
		}
		require.Equal(t, HTTP, h.session().Transport, "its answer is waited for")
		pass(20 * time.Second)
		require.Equal(t, IPC, h.session().Transport)
		require.Equal(t, map[fakeserver.Transport]int{fakeserver.IPC: 1}, s.ConnectionsByTransport())
	})
}

// New settings allow a better transport again: it is tried at once, or with the next token, whatever came of the tries before.
func TestNewSettingsAreActedUponAtOnce(t *testing.T) {
	t.Parallel()
	better := func(o Options, transports ...Transport) Options {
		o.Transports = transports
		return o
	}
	for name, c := range map[string]struct {
		tokens int
		before func(t *testing.T, h *harness, s *fakeserver.Server, reload func(...Transport))
		within time.Duration
	}{
		"nothing was tried": {1000, func(*testing.T, *harness, *fakeserver.Server, func(...Transport)) {}, 0},
		"a try has failed": {1000, func(t *testing.T, h *harness, s *fakeserver.Server, reload func(...Transport)) {
			require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultLogin, Transport: fakeserver.IPC}))
			reload(IPC, HTTP)
			require.NoError(t, s.SetFault(fakeserver.Fault{}))
		}, 0},
		"another transport waits for its token": {2, func(_ *testing.T, h *harness, _ *fakeserver.Server, reload func(...Transport)) {
			h.publish(devices.False) // both tokens are spent
			pass(time.Second)
			reload(WebSocket, HTTP)
		}, 30 * time.Second},
		"another transport hangs": {1000, func(t *testing.T, h *harness, s *fakeserver.Server, reload func(...Transport)) {
			require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultReadyNever, Transport: fakeserver.WebSocket}))
			reload(WebSocket, HTTP)
		}, 0},
		"a try is late under the old settings": {1000, func(t *testing.T, h *harness, s *fakeserver.Server, reload func(...Transport)) {
			require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultReadyLate, Delay: 30 * time.Second, Transport: fakeserver.IPC}))
			reload(IPC, HTTP)
			require.NoError(t, s.SetFault(fakeserver.Fault{}))
			reload(IPC, WebSocket, HTTP)
		}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Documented, IPCDir: ipcDir})
				opts := Options{Tokens: c.tokens, Origin: origin}
				h := v.start(better(opts, HTTP))
				reload := func(transports ...Transport) {
					h.Reconfigure(v.complete(h, better(opts, transports...)))
					pass(time.Second)
				}
				h.publish(devices.True)
				pass(time.Second)
				c.before(t, h, s, reload)
				require.Equal(t, HTTP, h.session().Transport)
				reload(IPC, WebSocket, HTTP)
				pass(c.within)
				require.Equal(t, IPC, h.session().Transport)
				require.Equal(t, Ready, h.session().State)
			})
		})
	}
}

// New settings come while the link that the old ones wanted waits for the last answer over the one before. It is not gone on with.
func TestALinkThatNewSettingsForbidIsNotGoneOnWith(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Documented, IPCDir: ipcDir})
		h := v.reporting(Options{Tokens: 1000, Transports: only(HTTP)}, devices.False, time.Minute)
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultAnswerLate, Delay: 8 * time.Second, Transport: fakeserver.HTTP}))
		h.publish(devices.True)
		pass(time.Second)
		for _, tr := range []Transport{IPC, HTTP} {
			h.Reconfigure(v.complete(h, Options{Tokens: 1000, Transports: only(tr)}))
			pass(time.Second)
		}
		pass(time.Minute)
		require.Equal(t, HTTP, h.session().Transport)
		require.Equal(t, map[fakeserver.Transport]int{fakeserver.HTTP: 1}, s.ConnectionsByTransport())
		require.Equal(t, devices.True, mute(s))
	})
}

// A client is connected to in a way that new settings forbid or better: it is connected to anew, at once.
func TestNewSettingsHoldForWhoIsBeingConnectedTo(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Documented, IPCDir: ipcDir})
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultReadyNever, Transport: fakeserver.WebSocket}))
		h := v.reporting(Options{Transports: only(WebSocket), Origin: origin}, devices.True, time.Second)
		require.Equal(t, Connecting, h.session().State)
		h.Reconfigure(v.complete(h, Options{Transports: only(IPC)}))
		pass(time.Second)
		require.Equal(t, IPC, h.session().Transport)
		require.Equal(t, devices.True, mute(s))
	})
}

// Who raises the tokens does not wait for the time that the old ones would have taken, with a list or with a connection.
func TestMoreTokensCountAtOnce(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{HTTP, IPC} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Bucket: 1000})
				opts := Options{Transports: only(tr), TokenEvery: time.Hour}
				h := v.start(opts)
				for _, m := range []devices.Tri{devices.True, devices.False, devices.True} {
					if tr == IPC {
						require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultDie, Times: 1}))
					}
					h.publish(m)
					pass(2 * time.Second)
				}
				require.False(t, h.session().NextTry.IsZero(), "it waits for a token")
				opts.Tokens = 1000
				h.Reconfigure(v.complete(h, opts))
				pass(2 * time.Second)
				require.Equal(t, devices.True, mute(s))
				require.True(t, h.session().NextTry.IsZero(), "%v", h.session())
			})
		})
	}
}

// What stays in a client when the agent ends is for ends: a client that settings leave out goes on beside an agent that goes on.
func TestAnExcludedClientKeepsNoMute(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.client(m.program(200), fakeserver.Options{Profile: fakeserver.Documented})
		opts := Options{Origin: origin, OnExit: ExitLeave}
		h := m.reporting(opts, devices.True, time.Second)
		require.Equal(t, devices.True, mute(s))
		opts.Ports = []int{6470}
		h.Reconfigure(m.complete(h, opts))
		pass(time.Minute)
		require.NotEqual(t, devices.True, mute(s))
	})
}
