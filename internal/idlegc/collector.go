// Package idlegc keeps the Go runtime from collecting garbage in a process that is idle, except once when its work has ended. The runtime
// collects every two minutes, which wakes several threads, several times each.
package idlegc

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	interval = 10 * time.Second // between two checks for work while there is some
	delay    = time.Second      // from the start of work to the first check: its first step must not wait for this package
	// allowance is what unannounced work may allocate before garbage is collected nevertheless, in bytes.
	allowance = 2 << 20
)

// Collector lets garbage be collected only while there is work. It changes settings of the process, which must not have two.
type Collector struct {
	mu      sync.Mutex
	timer   *time.Timer
	waiting bool // the timer is set
	worked  bool // since it was set
	off     bool // garbage is left alone
	percent int  // the value of debug.SetGCPercent to restore
}

// NewCollector returns a Collector that counts the start of the process as work.
func NewCollector() *Collector {
	c := &Collector{waiting: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(interval, c.check)
	return c
}

// Working says that the process has something to do. It costs next to nothing.
func (c *Collector) Working() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worked = true
	if !c.waiting {
		c.waiting = true
		c.timer.Reset(delay)
	}
}

// check checks whether there was work since the last time.
func (c *Collector) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting = c.worked; c.waiting {
		c.worked = false
		c.turnOn()
		c.timer.Reset(interval)
		return
	}
	if c.off {
		return
	}
	c.mu.Unlock() // work that begins now must not wait
	debug.FreeOSMemory()
	c.mu.Lock()
	if !c.waiting && !c.off { // no work has begun
		c.turnOff()
	}
}

// turnOff allows little more memory than is in use, so that garbage of the last work has to be collected before.
func (c *Collector) turnOff() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) + allowance)
	c.off, c.percent = true, debug.SetGCPercent(-1)
}

func (c *Collector) turnOn() {
	if c.off {
		c.off = false
		debug.SetGCPercent(c.percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
