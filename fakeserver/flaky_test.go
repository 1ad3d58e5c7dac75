package fakeserver

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDice(t *testing.T) {
	t.Parallel()
	const count = 20_000
	for _, tc := range []struct {
		transport Transport
		event     event
		never     []FaultKind
	}{
		{IPC, connectEvent, nil},
		{WebSocket, connectEvent, []FaultKind{FaultLogin}},
		{IPC, payloadEvent, []FaultKind{FaultOffline}},
		{WebSocket, payloadEvent, []FaultKind{FaultOffline}},
		{HTTP, payloadEvent, []FaultKind{FaultExtraAnswer, FaultTwice}},
	} {
		d, again, hits, seen := newRNG(7), newRNG(7), 0, map[FaultKind]int{}
		for range count {
			f := d.draw(tc.transport, tc.event)
			require.Equal(t, f, again.draw(tc.transport, tc.event), "the same seed, the same faults")
			if f == (Fault{}) {
				continue
			}
			hits++
			seen[f.Kind]++
			require.NoError(t, f.check(), "a fault that can be set by hand")
			require.LessOrEqual(t, f.Delay, maxDelay)
		}
		require.InDelta(t, count/faultOdds, hits, count/50)
		for _, kind := range faultPool[tc.event] {
			if slices.Contains(tc.never, kind) {
				require.Zero(t, seen[kind], kind)
				continue
			}
			require.Greater(t, seen[kind], hits/len(faultPool[tc.event])/2, kind)
		}
	}
	require.NotEqual(t, draws(1), draws(2), "another seed, other faults")
}

func draws(seed uint64) []Fault {
	d, list := newRNG(seed), []Fault{}
	for range 100 {
		list = append(list, d.draw(IPC, payloadEvent))
	}
	return list
}

// How many connects there were does not change what the payloads meet.
func TestDiceStreams(t *testing.T) {
	d, want := newRNG(3), draws(3)
	for n := range 100 {
		d.draw(WebSocket, connectEvent)
		require.Equal(t, want[n], d.draw(IPC, payloadEvent))
	}
}

func TestFlakyPayloads(t *testing.T) {
	t.Parallel()
	const seed, count = 11, 80
	srv, rng, faults, seq := launch(t, Options{Profile: Flaky, Bucket: -1, Seed: seed}), newRNG(seed), 0, 0
	for range count {
		want := rng.draw(HTTP, payloadEvent)
		if want.Kind != FaultNone {
			faults++
		}
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
		require.NoError(t, err)
		require.NoError(t, newRequest(t, "POST", rpcURL(srv), msg("n", cameraDev)).Write(c))
		if want.Kind == FaultDie {
			stats(t, srv, func(s Stats) bool { return s.Faults == faults })
		} else {
			seq++
			got := payload(t, srv, seq)
			require.Equal(t, want.Kind, got.Fault)
			require.Equal(t, want.Kind == FaultNone || slices.Contains(acceptingFaults, want.Kind), got.Err == nil, want)
		}
		require.NoError(t, c.Close())
	}
	require.Equal(t, faults, srv.Stats().Faults)
	require.Greater(t, faults, count/faultOdds/2)
	require.Equal(t, seq, srv.Stats().Payloads)
}

func TestFlakyConnects(t *testing.T) {
	t.Parallel()
	const seed, count = 5, 60
	srv, rng, faults := launchIPC(t, Options{Profile: Flaky, Bucket: -1, Seed: seed}), newRNG(seed), 0
	for range count {
		want := rng.draw(IPC, connectEvent)
		if want.Kind != FaultNone {
			faults++
		}
		p := shake(t, srv)
		switch want.Kind {
		case FaultNone, FaultReadyLate:
			require.Equal(t, readyUserMessage, p.answer())
		case FaultCloseCode:
			require.Equal(t, 4002, p.closed().Code)
		case FaultLogin:
			require.Equal(t, 1000, p.closed().Code)
		case FaultOffline:
			require.Equal(t, 4000, p.closed().Code)
		}
		stats(t, srv, func(s Stats) bool { return s.Faults == faults })
		require.NoError(t, p.Close())
		stats(t, srv, func(s Stats) bool { return s.Connections == 0 })
	}
	require.Greater(t, faults, count/faultOdds/2)
}

// A fault that is set by hand comes before those that are drawn.
func TestFlakyFaultSetByHand(t *testing.T) {
	const seed = 11
	srv := launch(t, Options{Profile: Flaky, Bucket: -1, Seed: seed})
	setFault(t, srv, "error=4006")
	for seq := 1; seq <= 20; seq++ {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
		require.NoError(t, err)
		require.NoError(t, newRequest(t, "POST", rpcURL(srv), msg("n", cameraDev)).Write(c))
		require.Equal(t, FaultError, payload(t, srv, seq).Fault)
		require.NoError(t, c.Close())
	}
}
