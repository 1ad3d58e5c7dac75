// Package idlegc keeps the Go runtime from collecting garbage in a process that does nothing. The runtime does so every two minutes once
// there has been any, and that wakes several threads, several times each.
package idlegc

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	after = 10 * time.Second // work is looked for so often while there is some
	soon  = time.Second      // work begins with a step that must not wait for this package
	// room is what may be allocated by work that nobody tells of, before garbage is collected all the same.
	room = 2 << 20
)

// Collector has garbage collected while there is work. One is enough for a process, whose settings it changes.
type Collector struct {
	mu      sync.Mutex
	timer   *time.Timer
	waiting bool // the timer is set
	worked  bool // since it was set
	off     bool // garbage is left alone
	percent int  // the setting that is in force otherwise
}

// NewCollector returns one that takes the start for work.
func NewCollector() *Collector {
	c := &Collector{waiting: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(after, c.look)
	return c
}

// Working tells that the process has something to do. It costs next to nothing.
func (c *Collector) Working() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worked = true
	if !c.waiting {
		c.waiting = true
		c.timer.Reset(soon)
	}
}

// look looks whether there was work since the last time.
func (c *Collector) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting = c.worked; c.waiting {
		c.worked = false
		c.turnOn()
		c.timer.Reset(after)
		return
	}
	c.turnOff()
}

func (c *Collector) turnOff() {
	if c.off {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) + room)
	c.off, c.percent = true, debug.SetGCPercent(-1)
}

func (c *Collector) turnOn() {
	if c.off {
		c.off = false
		debug.SetGCPercent(c.percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
