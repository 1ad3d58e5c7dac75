package idlegc

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// percent is the runtime's setting; -1: nothing is collected for the sake of its share.
func percent() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

func restore(c *Collector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turnOn()
}

func TestGarbageIsCollectedWhileThereIsWork(t *testing.T) {
	usual := percent()
	synctest.Test(t, func(t *testing.T) {
		c := NewCollector()
		defer restore(c)
		require.Equal(t, usual, percent())
		time.Sleep(interval + time.Millisecond)
		require.Equal(t, -1, percent())
		time.Sleep(time.Hour)
		require.Equal(t, -1, percent())

		c.Working()
		require.Equal(t, -1, percent(), "the first step does not wait")
		time.Sleep(delay + time.Millisecond)
		for range 10 {
			require.Equal(t, usual, percent())
			c.Working()
			time.Sleep(interval)
		}
		time.Sleep(interval)
		require.Equal(t, -1, percent())
	})
	require.Equal(t, usual, percent())
}

var sink []byte

// TestWorkThatNobodyTellsOf does not let memory grow.
func TestWorkThatNobodyTellsOf(t *testing.T) {
	c := NewCollector()
	defer restore(c)
	runtime.GC()
	c.timer.Stop()
	c.check()
	require.Equal(t, -1, percent())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 1000 {
		sink = make([]byte, 100<<10)
	}
	runtime.ReadMemStats(&after)
	require.Greater(t, after.NumGC, before.NumGC)
	require.LessOrEqual(t, after.Sys-after.HeapReleased, before.Sys-before.HeapReleased+2*allowance)
}

// TestMemoryIsGivenBack: an idle process does not keep the garbage of its last work.
func TestMemoryIsGivenBack(t *testing.T) {
	c := NewCollector()
	defer restore(c)
	c.timer.Stop()
	var before, after runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	sink = make([]byte, 16<<20)
	sink = nil
	c.check()
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, after.Sys-after.HeapReleased, before.Sys-before.HeapReleased+allowance)
}
