package rpcclient

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// TestASilentClientIsAskedOnce: one that greets and never answers, as the open
// re-implementations do. Whatever happens, it is asked again only when it restarts.
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
				require.Contains(t, h.session().Remedy(), "when it restarts")
				require.True(t, h.session().NextTry.IsZero())
				require.NoError(t, s.SetFault(fakeserver.Fault{}))
				h.publish(devices.True)
				s.DropConnections()
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
		require.NotErrorIs(t, errors.New(h.trouble()), errUnsupported)
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
