package link

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newBackoff(first, ceiling time.Duration) *Backoff {
	return NewBackoff(first, ceiling, rand.Float64)
}

func TestBackoffGrowsToItsCeiling(t *testing.T) {
	t.Parallel()
	const first, ceiling = 250 * time.Millisecond, 5 * time.Second
	b := newBackoff(first, ceiling)
	for range 3 {
		for _, want := range []time.Duration{first, 2 * first, 4 * first, 8 * first, 16 * first, ceiling, ceiling, ceiling} {
			got := b.Wait()
			require.GreaterOrEqual(t, got, want*4/5)
			require.LessOrEqual(t, got, want*6/5)
		}
		b.Reset()
	}
}

func TestBackoffNeverStartsAboveItsCeiling(t *testing.T) {
	t.Parallel()
	b := newBackoff(time.Second, 10*time.Millisecond)
	for range 5 {
		require.LessOrEqual(t, b.Wait(), 12*time.Millisecond)
	}
}

func TestBackoffNeverOverflows(t *testing.T) {
	t.Parallel()
	b := newBackoff(time.Nanosecond, 100*365*24*time.Hour)
	for range 200 {
		require.GreaterOrEqual(t, b.Wait(), time.Duration(0))
	}
}

// TestBackoffJitters shows that the spread is used: agents that start together part.
func TestBackoffJitters(t *testing.T) {
	t.Parallel()
	low, high := 0, 0
	for range 1000 {
		switch w := newBackoff(time.Second, time.Second).Wait(); {
		case w < 1050*time.Millisecond:
			low++
		case w > 1150*time.Millisecond:
			high++
		}
	}
	require.Greater(t, low, 100)
	require.Greater(t, high, 100)
}
