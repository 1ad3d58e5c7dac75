package fakeserver

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// has reports whether a turn has come.
func has(t *turn) bool {
	select {
	case <-t.granted:
		return true
	default:
		return false
	}
}

func quiet() {}

func TestBucketLetsTwoThroughAndOneMoreEach30s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(2, 30*time.Second, quiet)
		require.True(t, has(l.join("a")))
		require.True(t, has(l.join("a")))
		third, fourth := l.join("a"), l.join("a")
		require.False(t, has(third))
		require.Equal(t, Stats{Queued: 2, Waited: 2, Spent: 2}, l.state())

		time.Sleep(30*time.Second - 1)
		synctest.Wait()
		require.False(t, has(third))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.True(t, has(third), "first in, first out")
		require.False(t, has(fourth))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.True(t, has(fourth))
		require.Equal(t, Stats{Queued: 0, Waited: 2, Spent: 4}, l.state())
		require.False(t, has(l.join("a")), "no token was left over")
	})
}

func TestBucketHoldsNoMoreThanItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(2, time.Second, quiet)
		l.join("a")
		time.Sleep(time.Hour)
		require.True(t, has(l.join("a")))
		require.True(t, has(l.join("a")))
		require.False(t, has(l.join("a")))
	})
}

// The part of a token that has run in is not lost when one is spent.
func TestBucketRefillsAtAConstantRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(2, 10*time.Second, quiet)
		l.join("a")
		time.Sleep(6 * time.Second)
		l.join("a")
		time.Sleep(9 * time.Second) // 15 s after the first: one is due since 5 s
		require.True(t, has(l.join("a")))
		start := time.Now()
		require.True(t, l.join("a").wait(nil, nil))
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

func TestBucketOfEachClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, time.Second, quiet)
		require.True(t, has(l.join("a")))
		require.True(t, has(l.join("b")))
		require.False(t, has(l.join("a")))
		require.True(t, has(l.join("")), "who has no client id has no bucket")
		require.True(t, has(l.join("")))
		require.Equal(t, 2, l.state().Spent)
		time.Sleep(time.Hour)
		synctest.Wait()
		l.join("c")
		require.Len(t, l.buckets, 1, "full buckets are forgotten")
	})
}

func TestBucketLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes atomic.Int32
		l := newLimiter(1, 30*time.Second, func() { changes.Add(1) })
		l.join("a")
		second, third := l.join("a"), l.join("a")
		before := changes.Load()
		closed := make(chan struct{})
		close(closed)
		require.False(t, second.wait(closed, nil))
		require.False(t, second.wait(nil, closed))
		second.cancel()
		second.cancel() // leaving twice changes nothing
		require.Equal(t, Stats{Queued: 1, Waited: 2, Spent: 1}, l.state())
		require.Greater(t, changes.Load(), before)
		start := time.Now()
		require.True(t, third.wait(nil, nil))
		require.Equal(t, 30*time.Second, time.Since(start), "its place was given up")
	})
}

// A bubble can only end when no timer is left that could fire.
func TestBucketIdlesWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes atomic.Int32
		l := newLimiter(1, time.Second, func() { changes.Add(1) })
		l.join("a")
		waiting := l.join("a")
		gone := make(chan struct{})
		close(gone)
		require.False(t, waiting.wait(gone, nil))
		waiting.cancel()
		before := changes.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, before, changes.Load(), "the timer was stopped")
	})
}

func TestBucketReset(t *testing.T) {
	l := newLimiter(2, time.Hour, quiet)
	l.join("a")
	l.join("a")
	l.reset()
	require.True(t, has(l.join("a")))
	require.Equal(t, 3, l.state().Spent, "the counts go on")
}

func TestNoBucket(t *testing.T) {
	for _, size := range []int{0, -1} {
		l := newLimiter(size, time.Hour, quiet)
		for range 100 {
			require.True(t, l.join("a").wait(nil, nil))
		}
		require.Equal(t, Stats{}, l.state())
	}
}
