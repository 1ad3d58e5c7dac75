package rpcclient

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/session"
)

// TestARepeatedPostCostsASecondToken: a kept connection breaks after the client has taken the
// request. Sending it once more needs a token, like any other request (rule R67).
func TestARepeatedPostCostsASecondToken(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := desktops(t, m, 1, func(o *fakeserver.Options) { o.IPCDir, o.Bucket, o.Refill = "", 2, time.Hour })[0]
		opts := quick(s.Port())
		opts.Local, opts.Transports, opts.Tokens, opts.TokenEvery, opts.HTTPTimeout = m, only(HTTP), 2, time.Hour, patience
		h := m.start(opts)
		h.publish(devices.False)
		has(t, s, devices.False)
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultCloseAfter, Count: 1, Times: 1}))
		h.publish(devices.True)
		eventually(t, "it has broken", func() bool { return s.Stats().Faults == 1 })
		eventually(t, "it waits for a token, or hangs in the client's line", func() bool {
			return s.Stats().Waited > 0 || time.Until(h.session().NextTry) > time.Minute
		})
		require.Zero(t, s.Stats().Waited, "nothing ever waits in the client's line")
	})
}

// TestWhatIsGivenUpHasNoNextTry: one that is asked again only when it restarts is not said to be
// tried again by itself, least of all in the past.
func TestWhatIsGivenUpHasNoNextTry(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultOffline}})
		m.own(s.IPCPath(), local.Process{PID: 100, UID: "1000"})
		opts := quick()
		opts.Local = m
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "refused for now", func() bool { return h.session().State == Refused && !h.session().NextTry.IsZero() })
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultCloseCode, Code: link.CodeInvalidOrigin}))
		eventually(t, "refused for good", func() bool { return h.session().State == Refused && s.Stats().Faults >= 2 && s.Connections() == 0 })
		require.NoError(t, s.SetFault(fakeserver.Fault{}))
		eventually(t, "no next try", func() bool { return h.session().State == Refused && h.session().NextTry.IsZero() })
	})
}

// TestNothingOvertakesAListInFlight: a socket appears while a list is on its way over HTTP. Sent
// over IPC at once, the next one could reach the client first (rule R71). A real client handles a
// request that waits in its line even if its connection has ended.
func TestNothingOvertakesAListInFlight(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		hidden := m.elsewhere()
		late := fakeserver.Fault{Kind: fakeserver.FaultAnswerLate, Transport: fakeserver.HTTP, Delay: time.Second}
		s := desktops(t, hidden, 1, func(o *fakeserver.Options) { o.Fault = late })[0]
		m.own(s.Port(), local.Process{PID: 100, UID: "1000"})
		opts := quick(s.Port())
		opts.Local, opts.HTTPTimeout = m, patience
		h := m.start(opts)
		h.publish(devices.False)
		has(t, s, devices.False)

		path := m.socket(0)
		m.own(path, local.Process{PID: 100, UID: "1000"})
		m.link(s.IPCPath(), path)
		m.appear()
		h.publish(devices.True)
		has(t, s, devices.True)
		eventually(t, "over IPC", func() bool { return h.session().State == Ready && h.session().Transport == IPC })
		all := s.Payloads()
		require.Equal(t, fakeserver.HTTP, all[0].Transport)
		for _, p := range all[1:] {
			require.False(t, p.Time.Before(all[0].Time.Add(late.Delay)), "payload %d over %s was sent before the first one had its answer", p.Seq, p.Transport)
		}
	})
}

// rush is a machine on which something happens between the first look at the sockets and the
// first connection to one.
type rush struct {
	*machine
	once   sync.Once
	happen func()
}

func (r *rush) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	r.once.Do(r.happen)
	return r.machine.Dial(ctx, path)
}

// TestARestartBetweenLookAndConnect: the connection leads to the next life of the client, which
// must not be talked to twice.
func TestARestartBetweenLookAndConnect(t *testing.T) {
	everywhereWithFiles(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true, Bucket: 10})
		local := &rush{machine: m, happen: func() {
			was, _ := m.Sockets()
			for now := was; now[0].ID == was[0].ID; now, _ = m.Sockets() { // the clock of a folder is coarse
				_ = s.Restart()
			}
			m.own(s.IPCPath(), local.Process{PID: 101, UID: "1000", Name: "Discord"})
		}}
		opts := m.quick()
		opts.Local = local
		h := m.start(opts)
		h.publish(devices.False)
		has(t, s, devices.False)
		eventually(t, "ready", func() bool { return h.session().State == Ready })
		m.appear()
		h.publish(devices.True)
		has(t, s, devices.True)
		eventually(t, "it was looked for again", func() bool { return s.Stats().Accepted > 1 })
		eventually(t, "one session", func() bool {
			st := h.Status().Sessions
			return len(st) == 1 && st[0].State == Ready && s.Stats().Connections == 1
		})
	})
}

// TestRestartIsSeenBeforeTheEnd: the socket is made anew before the session on the old one has
// ended. That the client did not know the command then says nothing of what it is now.
func TestRestartIsSeenBeforeTheEnd(t *testing.T) {
	t.Parallel()
	opts := quick()
	opts.RefusedWait = time.Hour
	c := New(opts)
	p := c.newPeer(local.Process{PID: 100, UID: "1000"})
	p.socket = local.Socket{Path: "discord-ipc-0", ID: "old"}
	ended := &attempt{at: p.location, err: session.ErrUnsupported}
	c.handleResult(p, ended)
	require.ErrorIs(t, p.givenUp, session.ErrUnsupported, "nothing to try before it restarts")

	c.applyOutcome(p, onNewChance)
	p.socket.ID = "new"
	c.handleResult(p, ended)
	require.NoError(t, p.givenUp)
	require.WithinDuration(t, time.Now(), p.nextTry, time.Minute)
}
