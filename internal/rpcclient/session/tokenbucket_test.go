package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sidetone/internal/devices"
)

func times(lists []sentList) []time.Time {
	out := make([]time.Time, len(lists))
	for i, l := range lists {
		out[i] = l.at
	}
	return out
}

// mostPerSecond is the largest number of the given times, in rising order, that lie in any one
// second, both of its ends included.
func mostPerSecond(at []time.Time) int {
	most, first := 0, 0
	for i := range at {
		for at[i].Sub(at[first]) > time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestPacerKeepsTheLimit whatever the times at which something is to be sent.
func TestPacerKeepsTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPacer()
		now := time.Unix(1_000_000, 0)
		var sent []time.Time
		gap := rapid.OneOf(
			rapid.Int64Range(0, int64(time.Millisecond)),
			rapid.Int64Range(0, int64(2*time.Second)),
		)
		late := rapid.Int64Range(0, int64(5*time.Millisecond)) // between the question and the sending
		for range rapid.IntRange(1, 400).Draw(t, "n") {
			now = now.Add(time.Duration(gap.Draw(t, "gap")))
			wait := p.Delay(now)
			require.Equal(t, wait, p.Delay(now), "asking costs nothing")
			require.GreaterOrEqual(t, wait, time.Duration(0))
			require.LessOrEqual(t, wait, time.Second/pacePerSecond, "nobody waits longer than for one token")
			now = now.Add(wait)
			require.Zero(t, p.Delay(now), "who has waited may send")
			now = now.Add(time.Duration(late.Draw(t, "late")))
			p.Spend(now)
			sent = append(sent, now)
		}
		require.LessOrEqual(t, mostPerSecond(sent), 50)
	})
}

func TestPacerGivesTheWholeRate(t *testing.T) {
	t.Parallel()
	p := newPacer()
	start := time.Unix(1_000_000, 0)
	now := start
	n := 0
	for now.Sub(start) <= 10*time.Second {
		if wait := p.Delay(now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		p.Spend(now)
		n++
	}
	require.Equal(t, paceBurst+10*pacePerSecond, n)
}

func TestPacerIsFullAgainAfterAPause(t *testing.T) {
	t.Parallel()
	p := newPacer()
	now := time.Unix(1_000_000, 0)
	for range 3 {
		for range paceBurst {
			require.Zero(t, p.Delay(now))
			p.Spend(now)
		}
		require.Positive(t, p.Delay(now))
		now = now.Add(time.Hour)
	}
}

// TestAListWaitsNoLongerThanForItsToken although a link had reserved one, and failed: the token that it has left is the list's.
func TestAListWaitsNoLongerThanForItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLink{}
		b := runSession(t, l)
		synctest.Wait()
		start := time.Now()
		b.Bucket = NewTokenBucket(2, 30*time.Second)
		for range 2 {
			b.Bucket.Spend(start)
		}
		b.put(1, devices.True)
		time.Sleep(20 * time.Second)
		release := b.Bucket.Reserve()
		time.Sleep(9 * time.Second)
		b.Bucket.Spend(start.Add(30 * time.Second))
		time.Sleep(2 * time.Second)
		release()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, l.lists(), 1)
		require.Equal(t, time.Minute, l.lists()[0].at.Sub(start))
	})
}
