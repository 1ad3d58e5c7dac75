package audio

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// miniaudioTimeout is how long one enumeration may take before it counts as hanging. It
// normally takes some milliseconds; a sound server that is stopped blocks it without end.
const miniaudioTimeout = 3 * time.Second

// enumeratedDevice is one endpoint as miniaudio lists it: the same few facts on every OS.
type enumeratedDevice struct {
	ID      string
	Type    devices.Type
	Name    string
	Default bool
}

// errMiniaudioHangs is the state of an enumeration that has not returned.
var errMiniaudioHangs = errors.New("miniaudio hangs")

// lister enumerates with miniaudio, of the sound server at an address. list may block for ever, also when ctx has ended.
type lister interface {
	list(ctx context.Context, server string) ([]enumeratedDevice, error)
}

// enumerator runs miniaudio in one goroutine, on request only, and never makes anybody wait:
// results are fetched when notify has said that they are there. A call that hangs keeps its
// goroutine until it returns; the enumerator then says so instead of a result.
type enumerator struct {
	notify  func()
	lister  lister
	servers chan string // of which a list is wanted
	ctx     context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	asking bool // the result is of before
	result []enumeratedDevice
	err    error
}

func newEnumerator(l lister, notify func()) *enumerator {
	e := &enumerator{notify: notify, lister: l, servers: make(chan string, 1)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	go e.work()
	return e
}

// request asks for an enumeration. One that is still waiting is replaced.
func (e *enumerator) request(server string) {
	select {
	case <-e.servers:
	default:
	}
	e.mu.Lock()
	e.asking = true
	e.mu.Unlock()
	e.servers <- server
}

// latest returns the last enumeration, and whether there will be another.
func (e *enumerator) latest() (result []enumeratedDevice, asking bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.result, e.asking, e.err
}

// close ends the goroutine once the call under way, if any, has returned. That may be at once.
func (e *enumerator) close() {
	e.cancel()
	select {
	case <-e.servers:
	default:
	}
	close(e.servers)
}

func (e *enumerator) work() {
	for server := range e.servers {
		watch := time.AfterFunc(miniaudioTimeout, func() { e.set(nil, errMiniaudioHangs) })
		result, err := e.lister.list(e.ctx, server)
		watch.Stop()
		e.set(result, err)
	}
}

func (e *enumerator) set(result []enumeratedDevice, err error) {
	e.mu.Lock()
	e.result, e.asking, e.err = result, len(e.servers) > 0, err
	e.mu.Unlock()
	e.notify()
}

// join marks the endpoints that miniaudio lists too, and takes over its word on the default
// where the native list has none. An endpoint that only miniaudio lists is one that is coming
// or going: the native list is read again on its event.
func join(endpoints []devices.Endpoint, found []enumeratedDevice) {
	for i := range endpoints {
		e := &endpoints[i]
		at := slices.IndexFunc(found, func(d enumeratedDevice) bool { return d.Type == e.Type && d.ID == e.ID })
		if at >= 0 {
			e.SeenBy = append(e.SeenBy, "miniaudio")
			e.Default = e.Default || found[at].Default
		}
	}
}

// companion is miniaudio beside a source that has endpoints of its own, which is asked when they come or go.
type companion struct {
	*enumerator
	alone bool     // it is not asked
	asked []string // the endpoints of when it was asked last; nil: it was not
	late  bool     // it has not answered yet
	err   error    // what is wrong with it
}

func newCompanion(notify func()) *companion {
	return &companion{enumerator: newEnumerator(newLister(), notify)}
}

// join joins the last list to endpoints, and asks for a new one if others are there than then.
func (c *companion) join(server string, endpoints []devices.Endpoint) {
	if c.alone {
		return
	}
	keys := make([]string, len(endpoints))
	for i, e := range endpoints {
		keys[i] = string(e.Type) + e.ID
	}
	slices.Sort(keys)
	if c.asked == nil || !slices.Equal(keys, c.asked) {
		c.asked = keys
		c.request(server)
	}
	var found []enumeratedDevice
	found, c.late, c.err = c.latest()
	join(endpoints, found)
}

// forget has it asked at the next join.
func (c *companion) forget() { c.asked = nil }

// notes tell what is wrong with it.
func (c *companion) notes() []health.Condition {
	switch {
	case errors.Is(c.err, errMiniaudioHangs):
		return []health.Condition{{Code: health.MiniaudioHangs, Severity: health.Info}}
	case c.err != nil:
		return []health.Condition{health.Wrap(c.err, health.MiniaudioFails, health.Info, nil).Condition}
	}
	return nil
}
