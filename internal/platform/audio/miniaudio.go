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

// miniaudioTimeout is how long an enumeration may take before it counts as hanging. It normally takes milliseconds; a suspended sound
// server blocks it for ever.
const miniaudioTimeout = 3 * time.Second

// enumeratedDevice is an endpoint in miniaudio's list: the same few facts on every OS.
type enumeratedDevice struct {
	ID      string
	Type    devices.Type
	Default bool
}

// errMiniaudioHangs means that an enumeration has not returned.
var errMiniaudioHangs = errors.New("miniaudio hangs")

// A lister enumerates the endpoints of the sound server at an address with miniaudio. It may block for ever, even after ctx has ended.
type lister func(ctx context.Context, server string) ([]enumeratedDevice, error)

// companion runs miniaudio beside a source that has endpoints of its own, whenever those come or go. It enumerates in one goroutine and
// never makes the source wait: notify says when a result is there. A call that hangs keeps that goroutine until it returns; until then
// its error is errMiniaudioHangs.
type companion struct {
	notify  func()
	list    lister
	servers chan string // of which a list is wanted
	ctx     context.Context
	cancel  context.CancelFunc

	alone bool     // the source works without miniaudio
	asked []string // the endpoints for which it was asked last; nil: ask at the next join
	late  bool     // at the last join its answer was still to come
	err   error    // what was wrong with it then

	mu      sync.Mutex
	asking  bool // result is out of date
	result  []enumeratedDevice
	failure error
}

func newCompanion(notify func()) *companion {
	c := &companion{notify: notify, list: newLister(), servers: make(chan string, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	go c.work()
	return c
}

// request asks for an enumeration, in place of one that has not begun.
func (c *companion) request(server string) {
	select {
	case <-c.servers:
	default:
	}
	c.mu.Lock()
	c.asking = true
	c.mu.Unlock()
	c.servers <- server
}

// close ends the goroutine, at once or when the call under way returns.
func (c *companion) close() {
	c.cancel()
	select {
	case <-c.servers:
	default:
	}
	close(c.servers)
}

func (c *companion) work() {
	for server := range c.servers {
		watchdog := time.AfterFunc(miniaudioTimeout, func() { c.set(nil, errMiniaudioHangs) })
		result, err := c.list(c.ctx, server)
		watchdog.Stop()
		c.set(result, err)
	}
}

func (c *companion) set(result []enumeratedDevice, err error) {
	c.mu.Lock()
	c.result, c.asking, c.failure = result, len(c.servers) > 0, err
	c.mu.Unlock()
	c.notify()
}

// join marks the endpoints that miniaudio lists too, and takes its word for the default where the source has none. It asks for a new
// enumeration if the endpoints are others than those of the last one. An endpoint that only miniaudio lists is coming or going: the source
// will read its own list again.
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
	c.mu.Lock()
	found := c.result
	c.late, c.err = c.asking, c.failure
	c.mu.Unlock()
	for i := range endpoints {
		e := &endpoints[i]
		for _, l := range slices.Backward(found) {
			if l.Type == e.Type && l.ID == e.ID {
				e.SeenBy = append(e.SeenBy, "miniaudio")
				e.Default = e.Default || l.Default
				break
			}
		}
	}
}

// forget has miniaudio asked again at the next join.
func (c *companion) forget() { c.asked = nil }

// notes say what is wrong with miniaudio.
func (c *companion) notes() []health.Condition {
	switch {
	case errors.Is(c.err, errMiniaudioHangs):
		return []health.Condition{{Code: health.MiniaudioHangs, Severity: health.Info}}
	case c.err != nil:
		return []health.Condition{health.Wrap(c.err, health.MiniaudioFails, health.Info, nil).Condition}
	}
	return nil
}
