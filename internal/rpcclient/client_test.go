package rpcclient

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
)

func TestReportsEveryChange(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{WebSocket, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			everywhere(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{})
				opts := m.quick(s.Port())
				opts.Transports = only(tr)
				h := m.start(opts)
				for _, mute := range []devices.Tri{devices.False, devices.True, devices.Unknown, devices.False} {
					h.publish(mute)
					has(t, s, mute)
				}
				h.publish(devices.False) // nothing new, nothing sent
				h.publish(devices.True)
				has(t, s, devices.True)
				eventually(t, "five deliveries", func() bool { return len(h.delivered()) == 5 })
				first, second := h.delivered()[0], h.delivered()[1]
				require.True(t, first.First)
				require.Equal(t, "Headset Ünïcode 🎧 added (audiooutput, audioinput)", devices.Reasons(first.Changes))
				require.Equal(t, "Headset Ünïcode 🎧: mic muted", devices.Reasons(second.Changes))
				require.Equal(t, tr, second.To.Transport)
				require.Positive(t, second.SinceOS)

				st := h.session()
				require.Equal(t, map[Transport]State{WebSocket: Ready, HTTP: Degraded}[tr], st.State)
				require.Equal(t, s.Port(), st.Port)
				require.Equal(t, h.generation, st.Generation)
				h.stop()
				hasNone(t, s)
				require.Equal(t, Stopped, h.Status().State)
				spotless(t, s)
			})
		})
	}
}

func TestFullListOnConnectEvenIfEmpty(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{})
		h := m.start(quick(s.Port()))
		h.Publish(devices.Snapshot{Generation: 1})
		eventually(t, "a first delivery", func() bool { return len(h.delivered()) == 1 })
		require.Len(t, s.Payloads(), 1)
		require.Empty(t, s.Payloads()[0].Devices)
	})
}

func TestNothingIsSentBeforeTheFirstSnapshot(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{})
		opts := quick(s.Port())
		opts.Origin = origin
		h := m.start(opts)
		eventually(t, "a connection", func() bool { return h.session().Transport == WebSocket })
		require.Empty(t, s.Payloads())
		h.stop()
		hasNone(t, s)
	})
}

func TestChoosesTheFirstThatProves(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		ports := m.freePorts(6)
		m.blackHole(ports[0])
		squatter := m.serve(fakeserver.Options{Ports: ports[1:2], Fault: fakeserver.Fault{Kind: fakeserver.FaultSquatter}})
		// ports[2] is closed
		third := m.serve(fakeserver.Options{Ports: ports[3:4]})
		fourth := m.serve(fakeserver.Options{Ports: ports[4:5]})
		opts := quick(ports...)
		opts.Clients = FirstClient
		h := m.start(opts)
		h.publish(devices.True)
		has(t, third, devices.True)
		for _, p := range squatter.Payloads() {
			require.Empty(t, p.Devices, "not one name goes to a program that is no client")
		}
		require.Empty(t, fourth.Payloads(), "one client is served, and kept")
	})
}

func TestProofs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		server fakeserver.Options
		set    Transport
		proof  Transport
		tr     Transport
		probes int // payloads that carry no device
	}{
		"fingerprint":                {fakeserver.Options{}, all, "", WebSocket, 0},
		"fingerprint, no origin":     {fakeserver.Options{}, all, "", HTTP, 0}, // the client's own would refuse, and take a token
		"specification, websocket":   {fakeserver.Options{NoFingerprint: true}, all, WebSocket, WebSocket, 0},
		"specification, http alone":  {fakeserver.Options{NoFingerprint: true, NoWebSocket: true}, all, HTTP, HTTP, 1},
		"specification, http wanted": {fakeserver.Options{NoFingerprint: true}, HTTP, HTTP, HTTP, 1},
		"fingerprint, http alone":    {fakeserver.Options{NoWebSocket: true}, all, "", HTTP, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serve(c.server)
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				probing := Options{ClientID: clientID, Transports: only(c.set), DialPort: m.dialPort}
				if c.set == all {
					probing.Transports = []Transport{WebSocket, HTTP}
				}
				prober := New(probing)
				p, err := prober.prove(ctx, prober.newPeer(local.Process{}), location{port: local.Listener{Port: s.Port()}}, prober.portTransports())
				require.NoError(t, err)
				require.Equal(t, c.proof, p.over)
				p.close()
				opts := quick(s.Port())
				opts.Transports = only(c.set)
				if name != "fingerprint, no origin" {
					opts.Origin = origin
				}
				before := len(s.Payloads())
				h := m.start(opts)
				h.publish(devices.True)
				has(t, s, devices.True)
				eventually(t, "a delivery", func() bool { return len(h.delivered()) == 1 })
				require.Equal(t, c.tr, h.delivered()[0].To.Transport)
				for _, p := range s.Payloads()[before : before+c.probes] {
					require.Empty(t, p.Devices, "proof comes before data")
				}
				spotless(t, s)
			})
		})
	}
}

// TestFaults shows, for every fault of the fake client, that the list arrives once the fault
// is over, and what the status said meanwhile.
func TestFaults(t *testing.T) {
	t.Parallel()
	cases := []struct {
		fault  string
		set    Transport
		status string // part of Status().Error while the fault lasts; "" = no error is shown
	}{
		{"refuse", all, "no client found on any IPC socket, nor on port"},
		{"hang", all, "another program holds"},
		{"hang", HTTP, "another program holds"},
		{"squatter", all, "another program holds"},
		{"close-after=1", WebSocket, "lost"},
		{"close-after=1", HTTP, "lost"},
		{"die", WebSocket, "lost"},
		{"die", HTTP, "lost"},
		{"ready-never", WebSocket, "no answer in time"},
		{"close-code=4000", WebSocket, "invalid client id"},
		{"close-code=4001", WebSocket, "invalid origin"},
		{"close-code=4002", WebSocket, "rate limited"},
		{"close-code=4003", WebSocket, "token revoked"},
		{"close-code=4004", WebSocket, "invalid version"},
		{"close-code=4005", WebSocket, "invalid encoding"},
		{"close-code=1003", WebSocket, "bad data"},
		{"no-answer", WebSocket, "no answer in time"},
		{"no-answer", HTTP, "no answer in time"},
		{"wrong-nonce", WebSocket, "no answer in time"},
		{"wrong-nonce", HTTP, "not to our command"},
		{"bad-json", WebSocket, "not the client's RPC server"},
		{"bad-json", HTTP, "not the client's RPC server"},
		{"error=4000:bad", WebSocket, "the device list fails validation"},
		{"error=1000", HTTP, "failed in the client"},
		{"error=4002", WebSocket, "unknown command"},
		{"error=4006", WebSocket, "not authorized"},
		{"http-error=4000", HTTP, "invalid client id"},
		{"http-error=4001", HTTP, "invalid origin"},
		{"http-error=1003", HTTP, "bad data"},
	}
	for _, c := range cases {
		t.Run(c.fault+" "+string(c.set), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				fault, err := fakeserver.ParseFault(c.fault)
				require.NoError(t, err)
				s := m.serve(fakeserver.Options{})
				require.NoError(t, s.SetFault(fault))
				opts := quick(s.Port())
				opts.Transports, opts.Origin = only(c.set), origin
				h := m.start(opts)
				h.publish(devices.True)
				eventually(t, "the status says what is wrong", func() bool {
					return strings.Contains(h.trouble(), c.status)
				})
				require.NoError(t, s.SetFault(fakeserver.Fault{}))
				if h.session().NextTry.IsZero() && slices.Contains([]State{Unsupported, Refused}, h.session().State) {
					require.NoError(t, s.Restart()) // nothing less makes it worth another try
				}
				h.publish(devices.False)
				has(t, s, devices.False)
				eventually(t, "ready again", func() bool { return h.connected() && h.trouble() == "" })
			})
		})
	}
}

// TestFallsBack shows that what WebSocket cannot do, HTTP does, for the same client.
func TestFallsBack(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"websocket/close-code=4001", "websocket/error=4006", "websocket/ready-never", "websocket/close-code=4002"} {
		t.Run(fault, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				f, err := fakeserver.ParseFault(fault)
				require.NoError(t, err)
				s := m.serve(fakeserver.Options{Fault: f})
				h := m.start(quick(s.Port()))
				h.publish(devices.True)
				eventually(t, "delivered over HTTP", func() bool {
					d := h.delivered()
					return len(d) > 0 && d[len(d)-1].To.Transport == HTTP
				})
				has(t, s, devices.True)
			})
		})
	}
}

func TestLateIsNotLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		for _, fault := range []string{"ready-late=150ms", "answer-late=150ms"} {
			f, err := fakeserver.ParseFault(fault)
			require.NoError(t, err)
			s := m.serve(fakeserver.Options{Fault: f})
			opts := quick(s.Port())
			opts.Origin = origin
			h := m.start(opts)
			h.publish(devices.False)
			h.publish(devices.True)
			has(t, s, devices.True)
			eventually(t, "delivered", func() bool { return h.Status().State == Ready })
			require.Empty(t, h.trouble())
			h.stop()
		}
	})
}

func TestFollowsTheClient(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{WebSocket, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			everywhere(t, func(t *testing.T, m *machine) { followTheClient(t, tr, m, m) })
		})
		t.Run(string(tr)+" where the system tells nothing", func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) { followTheClient(t, tr, m, noLocal{}) })
		})
	}
}

func followTheClient(t *testing.T, tr Transport, m *machine, local Local) {
	ports := m.freePorts(3)
	s := m.serve(fakeserver.Options{Ports: ports[:1]})
	opts := m.quick(ports...)
	opts.Transports, opts.Local = only(tr), local
	h := m.start(opts)
	h.publish(devices.True)
	has(t, s, devices.True)
	for _, port := range []int{ports[2], ports[1], ports[1]} {
		s.Stop()
		eventually(t, "searching", func() bool { return h.Status().State == Searching })
		require.NoError(t, s.Resume(port)) // the client has forgotten that the mute is on
		has(t, s, devices.True)
		eventually(t, "the port in the status", func() bool { return h.session().Port == port })
	}
	s.Stop()
	eventually(t, "searching", func() bool { return h.Status().State == Searching && h.trouble() != "" })
	h.publish(devices.False)
	require.NoError(t, s.Resume(ports[0]))
	has(t, s, devices.False)
	spotless(t, s)
}

func TestResend(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{})
		h := m.start(quick(s.Port()))
		h.publish(devices.True)
		has(t, s, devices.True)
		eventually(t, "delivered", func() bool { return len(h.delivered()) == 1 })
		h.Resend()
		eventually(t, "delivered again", func() bool { return len(h.delivered()) == 2 })
		require.Len(t, s.Payloads(), 2)
	})
}

// TestStopEmptiesTheList also when an answer is outstanding.
func TestStopEmptiesTheList(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{WebSocket, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{})
				opts := quick(s.Port())
				opts.Transports, opts.AnswerTimeout, opts.HTTPTimeout = only(tr), patience, patience
				h := m.start(opts)
				h.publish(devices.False)
				has(t, s, devices.False)
				require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 1}))
				h.publish(devices.True)
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				_, err := s.WaitPayload(ctx, 1)
				require.NoError(t, err)
				h.stop()
				require.Empty(t, s.Devices())
			})
		})
	}
}

func TestStopDoesNotHang(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		for _, fault := range []fakeserver.FaultKind{fakeserver.FaultHang, fakeserver.FaultNoAnswer, fakeserver.FaultRefuse} {
			s := m.serve(fakeserver.Options{})
			opts := quick(s.Port())
			opts.AnswerTimeout, opts.ProbeTimeout, opts.StopTimeout = time.Hour, time.Hour, 50*time.Millisecond
			h := m.start(opts)
			h.publish(devices.True)
			has(t, s, devices.True)
			require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fault}))
			h.publish(devices.False)
			h.stop()
		}
	})
}

// TestBurst toggles as fast as it can: the last state arrives, no older one after a newer.
func TestBurst(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{WebSocket, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			everywhere(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{})
				opts := m.quick(s.Port())
				opts.Transports = only(tr)
				h := m.start(opts)
				for i := range 2001 {
					h.publish(devices.Of(i%2 == 0))
				}
				has(t, s, devices.True)
				eventually(t, "the last generation", func() bool { return h.session().Generation == h.generation })
				last := uint64(0)
				for _, d := range h.delivered() {
					require.Greater(t, d.Snapshot.Generation, last)
					last = d.Snapshot.Generation
				}
				require.Len(t, s.Payloads(), len(h.delivered()))
				spotless(t, s)
			})
		})
	}
}
