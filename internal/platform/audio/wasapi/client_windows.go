package wasapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"sidetone/internal/devices"
	"sidetone/internal/platform/windows"
	"sidetone/internal/platform/windows/com"
)

// service is Windows' audio service. When it restarts, existing objects report neither that nor anything else.
const service = "Audiosrv"

// closeLimit is how long Close waits for Core Audio.
const closeLimit = time.Second

// A Client reads endpoints. Everything except options, thread and changes belongs to the thread.
type Client struct {
	options Options
	parent  func(id string) string // windows.Parent
	thread  thread
	changes *changes
	closing sync.Once

	unwatch    func()      // of the service; nil: not watched
	enumerator *com.Object // nil: not connected
	listener   *com.Instance
	endpoints  map[string]*endpoint // by id
}

// Open returns a Client, which connects at the first Read.
func Open(o Options) *Client {
	return &Client{options: o, parent: windows.Parent, thread: newThread(), changes: &changes{changed: o.Changed}}
}

// Read returns the current state, or why it is unknown. Unless afresh, it reads only what is known to have changed.
func (c *Client) Read(ctx context.Context, afresh bool) (Reading, error) {
	r, err := call(ctx, c.thread, c.options.Changed, func() (Reading, error) {
		r, err := c.read(afresh)
		if err != nil {
			c.disconnect()
		}
		return r, err
	})
	return r, trouble(err)
}

// Close releases everything, unless Core Audio hangs.
func (c *Client) Close() { c.closing.Do(c.close) }

func (c *Client) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_, _ = call(ctx, c.thread, func() {}, func() (none struct{}, err error) {
		c.disconnect()
		if c.unwatch != nil {
			c.unwatch()
		}
		return none, nil
	})
	close(c.thread)
}

func (c *Client) read(afresh bool) (Reading, error) {
	if c.changes.ended() {
		c.disconnect()
	}
	if c.enumerator == nil {
		if err := c.connect(); err != nil {
			return Reading{}, err
		}
		afresh = true
	}
	come, reopen := c.changes.take()
	if come || afresh {
		if err := c.enumerate(reopen); err != nil {
			return Reading{}, err
		}
		afresh = true
	}
	r := Reading{Endpoints: []devices.Endpoint{}}
	for id, e := range c.endpoints {
		there, err := e.read(c, afresh)
		switch {
		case err != nil:
			return Reading{}, err
		case !there:
			if e.unread.state != nil {
				r.Faults = append(r.Faults, e.faults()...)
			}
			e.close()
			delete(c.endpoints, id)
			continue
		}
		if !e.remote() {
			r.Endpoints = append(r.Endpoints, e.endpoint())
			r.Faults = append(r.Faults, e.faults()...)
		}
	}
	r.sort()
	return r, nil
}

// connect creates the enumerator, and registers for notifications before anything is read.
func (c *Client) connect() (err error) {
	if c.unwatch == nil {
		c.unwatch, _ = windows.WatchService(service, c.changes.restarted) // Wine has no such service
	}
	c.endpoints = make(map[string]*endpoint)
	if c.enumerator, err = com.Create(classEnumerator, ifaceEnumerator); err != nil {
		return fmt.Errorf("make its enumerator: %w", err)
	}
	c.listener = notificationClass().New(c.changes)
	if err := c.enumerator.Call(enumeratorRegister, c.listener.Pointer()); err != nil {
		return fmt.Errorf("listen to Core Audio: %w", err)
	}
	return nil
}

// disconnect releases everything. Calls to a server that is gone fail, which does not matter.
func (c *Client) disconnect() {
	for _, e := range c.endpoints {
		e.close()
	}
	c.endpoints = nil
	if c.enumerator != nil {
		_ = c.enumerator.Call(enumeratorUnregister, c.listener.Pointer())
		c.listener.Release()
		c.enumerator.Release()
		c.enumerator, c.listener = nil, nil
	}
}

// flows maps Windows' numbers (EDataFlow) to types of endpoints.
var flows = []devices.Type{devices.AudioOutput, devices.AudioInput}

// enumerate updates the list in c.endpoints, but not the state of the endpoints. Those in reopen may have been away.
func (c *Client) enumerate(reopen map[string]bool) error {
	listed := make(map[string]bool)
	for flow, kind := range flows {
		chosen, err := c.defaultOf(flow)
		if err != nil {
			return fmt.Errorf("ask for the default %s: %w", kind, err)
		}
		list, err := c.enumerator.Object(enumeratorList, uintptr(flow), active|unplugged)
		if err != nil {
			return fmt.Errorf("list every %s: %w", kind, err)
		}
		err = c.collect(list, func(device *com.Object, id string) {
			listed[id] = true
			e := c.endpoints[id]
			if e == nil {
				e = c.newEndpoint(device, id, kind)
				c.endpoints[id] = e
			} else {
				e.replace(device, reopen[id])
			}
			e.isDefault = id == chosen
		})
		list.Release()
		if err != nil {
			return fmt.Errorf("list every %s: %w", kind, err)
		}
	}
	for id, e := range c.endpoints {
		if !listed[id] {
			e.close()
			delete(c.endpoints, id)
		}
	}
	return nil
}

// collect passes each device of a list to take. A device that vanishes meanwhile is skipped.
func (c *Client) collect(list *com.Object, take func(device *com.Object, id string)) error {
	var count uint32
	if err := list.Call(collectionCount, uintptr(unsafe.Pointer(&count))); err != nil {
		return err
	}
	for i := range count {
		device, err := list.Object(collectionItem, uintptr(i))
		if err == nil {
			var id string
			if id, err = device.Text(deviceID); err == nil {
				take(device, id)
				continue
			}
			device.Release()
		}
		if isAny(err, absent) {
			return err
		}
	}
	return nil
}

// defaultOf returns the id of the default endpoint of a flow, or "". It uses the role for games and system sounds (eConsole), which
// Windows' settings show as the default.
func (c *Client) defaultOf(flow int) (string, error) {
	device, err := c.enumerator.Object(enumeratorDefault, uintptr(flow), 0)
	if err == nil {
		defer device.Release()
		var id string
		if id, err = device.Text(deviceID); err == nil {
			return id, nil
		}
	}
	if isAny(err, absent) {
		return "", err
	}
	return "", nil
}

// sort makes the order of a reading independent of the order of arrival.
func (r *Reading) sort() {
	slices.SortFunc(r.Endpoints, func(a, b devices.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(r.Faults, func(a, b Fault) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
}
