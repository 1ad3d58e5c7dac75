package app

import (
	"maps"
	"runtime"
	"sync"

	"sidetone/internal/control"
	"sidetone/internal/platform/system"
	"sidetone/internal/rpcclient"
)

// eventCounts counts what has happened with clients: by event, then by transport.
type eventCounts struct {
	mu sync.Mutex
	of map[string]map[string]uint64
}

func (c *eventCounts) count(e rpcclient.Event, over rpcclient.Transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[string]map[string]uint64)
	}
	if c.of[string(e)] == nil {
		c.of[string(e)] = make(map[string]uint64)
	}
	c.of[string(e)][string(over)]++
}

func (c *eventCounts) all() map[string]map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]map[string]uint64, len(c.of))
	for event, over := range c.of {
		out[event] = maps.Clone(over)
	}
	return out
}

// process returns what this process occupies, as far as the system tells, and what has happened with clients.
func (a *App) process() *control.Process {
	p := &control.Process{Goroutines: runtime.NumGoroutine(), Events: a.report.events.all()}
	p.MemoryBytes, _ = system.ResidentMemory() // on an error 0: not known
	p.OpenFiles, _ = system.OpenFiles()
	return p
}
