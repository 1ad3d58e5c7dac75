package rpcclient

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
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
		b := newTokenBucket(2, 30*time.Second)
		spent := b.spend(time.Now())
		time.Sleep(28800 * time.Millisecond)
		spent(time.Now())
		testlab.ExpectedFailure(t, "V14: a wait in the client's queue proves an empty bucket, and is taken for one with a token", func(t testing.TB) {
			require.Equal(t, 30*time.Second, b.linkDelay(time.Now()), "the next token comes 30 s after the one that was waited for")
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
		testlab.ExpectedFailure(t, "V21: with rpc.on_exit: leave, a client that the settings leave out keeps its mute", func(t testing.TB) {
			require.NotEqual(t, devices.True, mute(s))
		})
	})
}
