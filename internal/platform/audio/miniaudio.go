package audio

import (
	"context"
	"errors"
	"slices"
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

// companion runs miniaudio beside a source that has endpoints of its own, whenever those come or go. It never makes the source wait:
// notify says when a result is there, or is overdue. A call that hangs keeps one goroutine until it returns; until then its error is
// errMiniaudioHangs.
type companion struct {
	alone  bool // the source works without miniaudio
	notify func()
	list   lister
	ctx    context.Context
	cancel context.CancelFunc

	asked   []string         // the endpoints for which it was asked last; nil: ask at the next join
	wanted  bool             // a list that has not begun
	results chan enumeration // not nil while it lists; gets one value
	began   time.Time        // when that was begun
	last    enumeration
	late    bool // at the last join its answer was still to come
}

// enumeration is the result of a list.
type enumeration struct {
	found []enumeratedDevice
	err   error
}

func newCompanion(alone bool, notify func()) *companion {
	c := &companion{alone: alone, notify: notify, list: newLister()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// close ends the list under way, if that is possible.
func (c *companion) close() { c.cancel() }

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
		c.asked, c.wanted = keys, true
	}
	c.enumerate(server)
	for i := range endpoints {
		e := &endpoints[i]
		for _, l := range slices.Backward(c.last.found) {
			if l.Type == e.Type && l.ID == e.ID {
				e.SeenBy = append(e.SeenBy, "miniaudio")
				e.Default = e.Default || l.Default
				break
			}
		}
	}
}

// enumerate takes the result of the list under way, if it is there, and begins another one if that is wanted.
func (c *companion) enumerate(server string) {
	overdue := false
	select {
	case c.last = <-c.results:
		c.results = nil
	default:
		overdue = c.results != nil && time.Since(c.began) >= miniaudioTimeout
	}
	if overdue {
		c.last = enumeration{err: errMiniaudioHangs}
	}
	if c.results == nil && c.wanted {
		results := make(chan enumeration, 1)
		c.wanted, c.results, c.began = false, results, time.Now()
		go func() {
			watchdog := time.AfterFunc(miniaudioTimeout, c.notify)
			found, err := c.list(c.ctx, server)
			watchdog.Stop()
			results <- enumeration{found, err}
			c.notify()
		}()
	}
	c.late = c.wanted || c.results != nil && !overdue
}

// forget has miniaudio asked again at the next join.
func (c *companion) forget() { c.asked = nil }

// notes say what is wrong with miniaudio.
func (c *companion) notes() []health.Condition {
	switch {
	case errors.Is(c.last.err, errMiniaudioHangs):
		return []health.Condition{{Code: health.MiniaudioHangs, Severity: health.Info}}
	case c.last.err != nil:
		return []health.Condition{health.Wrap(c.last.err, health.MiniaudioFails, health.Info, nil).Condition}
	}
	return nil
}
