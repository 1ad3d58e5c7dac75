package rpcclient

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/link/linktest"
	"sidetone/internal/rpcclient/session"
	"sidetone/internal/testlab"
)

// overHTTP starts a client of which only HTTP is left, with a bucket of two tokens, one of which comes every 30 s.
func (m *machine) overHTTP() *fakeserver.Server {
	return m.client(m.program(100), fakeserver.Options{Profile: fakeserver.Desktop})
}

// A client over HTTP has two tokens. The first is for what it is told at the start. If the other one goes for a mute, the unmute waits.
func TestAMuteOverHTTPLeavesATokenToTakeItBack(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.overHTTP()
		h := m.reporting(Options{Transports: only(HTTP)}, devices.False, time.Second)
		require.Equal(t, devices.False, mute(s))
		testlab.ExpectedFailure(t, "V15: the last token goes for a mute, and the unmute waits for the next one", func(t testing.TB) {
			h.publish(devices.True)
			pass(500 * time.Millisecond)
			h.publish(devices.False)
			pass(time.Second)
			assert.NotEqual(t, devices.True, mute(s), "it is shown as muted while the user speaks")
		})
	})
}

// The same with a mute that was there first.
func TestAMuteThatWaitedForATokenLeavesOne(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.overHTTP()
		h := m.reporting(Options{Transports: only(HTTP)}, devices.False, time.Second)
		h.publish(devices.Unknown)
		pass(time.Second)
		require.Equal(t, devices.Unknown, mute(s), "both tokens are spent")
		testlab.ExpectedFailure(t, "V15: a mute takes the token that it has waited for, the only one", func(t testing.TB) {
			h.publish(devices.True)
			pass(35 * time.Second)
			h.publish(devices.False)
			pass(time.Second)
			assert.NotEqual(t, devices.True, mute(s))
		})
	})
}

// Others have spent the client's tokens. A handshake that waits in the client's queue gets the token that has just come.
func TestWhatHasWaitedInTheQueueFindsTheBucketEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := session.NewTokenBucket(2, 30*time.Second)
		spent := b.Spend(time.Now())
		time.Sleep(28800 * time.Millisecond)
		spent(time.Now())
		testlab.ExpectedFailure(t, "V14: a wait in the client's queue is taken for a bucket with a token", func(t testing.TB) {
			require.Equal(t, 30*time.Second, b.LinkDelay(time.Now()), "the next token comes 30 s after the one that was waited for")
		})
	})
}

// Two agents before this one were killed. Its first list waits in the client's queue.
func TestAMuteAndAnUnmuteAfterTwoCrashes(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.overHTTP()
		opts := Options{Transports: only(HTTP)}
		for range 2 {
			m.reporting(opts, devices.False, time.Second).leave()
		}
		require.Len(t, s.Payloads(), 2)
		h := m.reporting(opts, devices.Unknown, 40*time.Second)
		require.Equal(t, devices.Unknown, mute(s), "the third list is taken")
		h.publish(devices.True)
		pass(time.Second)
		h.publish(devices.False)
		var shown time.Duration
		for range 120 {
			if pass(time.Second); mute(s) == devices.True {
				shown += time.Second
			}
		}
		require.Equal(t, devices.False, mute(s))
		testlab.ExpectedFailure(t, "V14: a mute waits in the client's queue although it is over", func(t testing.TB) {
			require.Zero(t, shown, "how long it is shown as muted while the user speaks")
		})
	})
}

// A client lets in a hundred connections over its socket. Other programs have all of them; its port still serves.
func TestAClientWhoseSocketIsFullIsServedOverItsPort(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		m.serveIPC(m.socket(0), func(f linktest.Frames) {
			_ = f.Send(linktest.OpClose, []byte(`{"code":1006,"message":"Server at capacity"}`))
		})
		m.own(m.socket(0), local.Process{PID: 100, UID: someUser})
		s := m.client(m.program(100), fakeserver.Options{Profile: fakeserver.Desktop})
		h := m.reporting(Options{}, devices.False, 2*time.Minute)
		require.Len(t, h.Status().Sessions, 1)
		require.Equal(t, m.socket(0), h.session().Socket)
		testlab.ExpectedFailure(t, "A2: a client whose socket is full gets no list, although its port serves", func(t testing.TB) {
			require.Equal(t, devices.False, mute(s))
			require.Equal(t, Degraded, h.session().State)
		})
	})
}

// Only one transport is allowed, and the client refuses it.
func TestNoOtherTransportIsPromisedIfNoneIsLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		m.client(m.program(100), fakeserver.Options{Profile: fakeserver.Desktop, Origins: []string{origin}})
		h := m.reporting(Options{Transports: only(WebSocket), Origin: origin}, devices.False, time.Minute)
		require.Equal(t, Refused, h.session().State)
		require.NotNil(t, h.session().Reason)
		testlab.ExpectedFailure(t, "A5: the remedy says that another transport is tried, although none is left", func(t testing.TB) {
			require.NotContains(t, remedyOf(h.session().Reason), "another one is tried")
		})
	})
}

// A client over HTTP has no token left when the agent stops.
func TestTheEndOverHTTPIsSaidOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		m.overHTTP()
		var log bytes.Buffer
		h := m.reporting(Options{Transports: only(HTTP), Log: slog.New(slog.NewTextHandler(&log, nil))}, devices.False, time.Second)
		h.publish(devices.True)
		pass(time.Second)
		h.stop()
		require.Contains(t, log.String(), "the client keeps the last list")
		testlab.ExpectedFailure(t, "A5: two warnings say that one client keeps its list, for two reasons", func(t testing.TB) {
			require.Equal(t, 1, strings.Count(log.String(), "the client keeps the last list"), log.String())
			require.NotContains(t, log.String(), "accepts no connection")
		})
	})
}

// Another agent, with devices of the same ids, tells a client that there are none.
func TestTheListOfAnotherAgentWithOurIDs(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.client(m.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		m.reporting(Options{}, devices.False, time.Second)
		require.Len(t, s.Devices(), 2)
		sockets, _ := m.Sockets()
		require.Len(t, sockets, 1)
		conn, _, err := m.me.DialIPC(t.Context(), sockets[0].Path)
		require.NoError(t, err)
		other, err := link.OpenIPC(t.Context(), conn, clientID)
		require.NoError(t, err)
		defer other.Close()
		nonce, payload := link.Encode(nil)
		require.NoError(t, other.Deliver(t.Context(), nonce, payload))
		pass(time.Hour)
		testlab.ExpectedFailure(t, "A3: another program's empty list takes our devices out of the client, until they change", func(t testing.TB) {
			require.Len(t, s.Devices(), 2)
		})
	})
}
