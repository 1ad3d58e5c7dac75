package rpcclient

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/session"
)

// TestASilentClientHasTheNextList: one that greets and does not answer, as the open re-implementations do, may have lost one answer. Over an
// open link, where a list costs nothing, it gets each newer one; otherwise it is asked again only when it restarts.
func TestASilentClientHasTheNextList(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, WebSocket} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{IPCDir: m.dir, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer}})
				opts := quick(s.Port())
				opts.Transports, opts.Local = only(tr), m
				h := m.start(opts)
				for i := range 5 {
					h.publish(devices.Of(i%2 == 0))
					eventually(t, "it was sent", func() bool { return len(s.Payloads()) == i+1 })
					eventually(t, "unsupported", func() bool { return h.Status().State == Unsupported })
				}
				require.NoError(t, s.SetFault(fakeserver.Fault{}))
				h.publish(devices.False)
				eventually(t, "ready", func() bool { return h.Status().State == Ready })
				require.Equal(t, devices.False, mute(s))
				require.Equal(t, 1, s.Connections(), "over the same link")
			})
		})
	}
}

// TestASilentClientIsAskedAgainSomeTime, because its only answer may have been lost and the list may not change for hours.
func TestASilentClientIsAskedAgainSomeTime(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 2}})
		opts := quick()
		opts.Local = m
		h := m.reporting(opts, devices.True, 6*time.Minute)
		require.Equal(t, Unsupported, h.session().State)
		pass(5 * time.Minute)
		require.Equal(t, Ready, h.session().State)
		require.Len(t, s.Payloads(), 3)
	})
}

// TestASilentClientGetsTheFarewell: what it holds is unknown, and may be a mute of an agent that was killed.
func TestASilentClientGetsTheFarewell(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 1}})
		opts := quick()
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "unsupported", func() bool { return h.Status().State == Unsupported })
		h.stop()
		last := s.Payloads()[len(s.Payloads())-1]
		require.Empty(t, last.Devices)
		require.NoError(t, last.Err)
	})
}

// TestNobodyWaitsForTheAnswerOfASilentClient when the agent stops.
func TestNobodyWaitsForTheAnswerOfASilentClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer}})
		opts := quick()
		opts.Local, opts.StopTimeout = m, time.Hour
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "unsupported", func() bool { return h.Status().State == Unsupported })
		start := time.Now()
		h.stop()
		require.LessOrEqual(t, time.Since(start), session.PromptAnswer)
		require.Empty(t, s.Payloads()[len(s.Payloads())-1].Devices, "it has the farewell")
	})
}

// TestAClientThatIsSilentOverHTTPIsTriedOverItsSocket, which did not greet in time at first.
func TestAClientThatIsSilentOverHTTPIsTriedOverItsSocket(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, Fault: fakeserver.Fault{Kind: fakeserver.FaultReadyNever, Transport: fakeserver.IPC}})
		for _, what := range []any{s.Port(), s.IPCPath()} {
			m.own(what, local.Process{PID: 100, UID: someUser})
		}
		opts := quick(s.Port())
		opts.Local, opts.Transports = m, []Transport{IPC, HTTP}
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "a handshake", func() bool { return s.Stats().Faults == 1 })
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Transport: fakeserver.HTTP}))
		eventually(t, "ready", func() bool { return h.Status().State == Ready })
		require.Equal(t, IPC, h.session().Transport)
		require.Equal(t, 2, s.Stats().Faults)
	})
}

// TestASilentClientIsAskedOnce over HTTP, and when its link has ended: it is asked again only when it restarts.
func TestASilentClientIsAskedOnce(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, WebSocket, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{IPCDir: m.dir, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer}})
				opts := quick(s.Port())
				opts.Transports, opts.Local = only(tr), m
				h := m.start(opts)
				h.publish(devices.False)
				eventually(t, "unsupported", func() bool { return h.Status().State == Unsupported })
				require.Contains(t, h.trouble(), "does not know certified devices")
				require.Contains(t, remedyOf(h.session().Reason), "when it restarts")
				require.True(t, h.session().NextTry.IsZero())
				require.NoError(t, s.SetFault(fakeserver.Fault{}))
				s.DropConnections()
				eventually(t, "the end was noticed", func() bool { return h.Status().Sessions[0].Error != "" })
				pass(time.Second)
				h.publish(devices.True)
				m.appear()
				eventually(t, "the end was noticed", func() bool { return s.Connections() == 0 || tr == HTTP })
				require.Never(t, func() bool { return len(s.Payloads()) > 1 }, 300*time.Millisecond, 20*time.Millisecond)
				require.Equal(t, Unsupported, h.Status().State)

				require.NoError(t, s.Restart())
				m.appear()
				has(t, s, devices.True)
			})
		})
	}
}

// TestALateAnswerIsAnAnswer: a client that was merely busy is not given up for good.
func TestALateAnswerIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, WebSocket} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				f := fakeserver.Fault{Kind: fakeserver.FaultAnswerLate, Delay: time.Second, Times: 1}
				s := m.serve(fakeserver.Options{IPCDir: m.dir, Fault: f})
				opts := quick(s.Port())
				opts.Transports, opts.Local = only(tr), m
				h := m.start(opts)
				h.publish(devices.False)
				eventually(t, "unsupported", func() bool { return h.Status().State == Unsupported })
				h.publish(devices.True)
				has(t, s, devices.True)
				eventually(t, "ready", func() bool { return h.Status().State == Ready })
				require.Len(t, s.Payloads(), 2)
			})
		})
	}
}

// TestAClientThatAnsweredOnceIsNotGivenUp for one answer that did not come.
func TestAClientThatAnsweredOnceIsNotGivenUp(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true})
		opts := quick()
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.False)
		has(t, s, devices.False)
		eventually(t, "ready", func() bool { return h.Status().State == Ready })
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 2}))
		h.publish(devices.True)
		has(t, s, devices.True)
		require.NotErrorIs(t, errors.New(h.trouble()), session.ErrUnsupported)
	})
}

// TestAResendWhileTheFirstAnswerIsAwaited gives a second chance to a client that then turns out
// to be silent, as one that was asleep with the machine.
func TestAResendWhileTheFirstAnswerIsAwaited(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 1}})
		opts := quick()
		opts.Local, opts.AnswerTimeout = m, 2*time.Second
		h := m.start(opts)
		m.appear()
		h.publish(devices.True)
		eventually(t, "the first list is on its way", func() bool { return len(s.Payloads()) == 1 })
		h.Resend()
		has(t, s, devices.True)
	})
}

// TestSessionSurvivesItsSocketBeforeTheFirstAnswer: a client that begins to refuse connections keeps the one that it has, and gets the farewell.
func TestSessionSurvivesItsSocketBeforeTheFirstAnswer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		f := fakeserver.Fault{Kind: fakeserver.FaultAnswerLate, Delay: time.Second, Times: 1}
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: f})
		opts := quick()
		opts.Local, opts.AnswerTimeout = m, 2*time.Second
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "the first list is on its way", func() bool { return len(s.Payloads()) == 1 })
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultRefuse}))
		m.appear()
		eventually(t, "ready", func() bool { return h.Status().State == Ready })
		h.publish(devices.False)
		has(t, s, devices.False)
		h.stop()
		require.Empty(t, s.Devices())
	})
}

// TestTheOnlyClientMayBeSilent: where only the first client is to be served, one that does not answer is not given up while there is no
// other.
func TestTheOnlyClientMayBeSilent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 1}})
		opts := quick()
		opts.Local, opts.Clients = m, FirstClient
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "unsupported", func() bool { return h.Status().State == Unsupported })
		h.publish(devices.False)
		eventually(t, "ready", func() bool { return h.Status().State == Ready })
		require.Equal(t, devices.False, mute(s))
		require.Equal(t, 1, s.Connections(), "over the same link")
	})
}

// TestASilentClientMakesRoom for another one, and takes its place again when that has ended.
func TestASilentClientMakesRoom(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		first := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultNoAnswer}})
		m.own(first.IPCPath(), local.Process{PID: 100, UID: someUser})
		opts := quick()
		opts.Local, opts.Clients = m, FirstClient
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "unsupported", func() bool { return h.Status().State == Unsupported })
		require.Equal(t, 1, first.Connections())

		second := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true})
		m.own(second.IPCPath(), local.Process{PID: 200, UID: someUser})
		m.appear()
		has(t, second, devices.True)
		eventually(t, "the silent one waits", func() bool {
			st := h.Status().Sessions
			return len(st) == 2 && st[0].State == Waiting && st[1].State == Ready
		})
		last := first.Payloads()[len(first.Payloads())-1]
		require.Empty(t, last.Devices, "it has the farewell")

		require.NoError(t, first.SetFault(fakeserver.Fault{}))
		second.Stop()
		m.appear()
		has(t, first, devices.True)
	})
}
