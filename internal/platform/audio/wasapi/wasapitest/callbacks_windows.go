package wasapitest

import (
	"slices"
	"sync"

	"sidetone/internal/platform/windows/com"
)

// callbacks are the objects that programs have registered, by endpoint.
type callbacks struct {
	mu    sync.Mutex
	lists map[string][]*com.Object
}

func newCallbacks() *callbacks { return &callbacks{lists: make(map[string][]*com.Object)} }

func (c *callbacks) add(id string, o *com.Object) uintptr {
	_ = o.Call(addRef)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[id] = append(c.lists[id], o)
	return 0
}

func (c *callbacks) remove(id string, o *com.Object) uintptr {
	c.mu.Lock()
	i := slices.Index(c.lists[id], o)
	if i >= 0 {
		c.lists[id] = slices.Delete(c.lists[id], i, i+1)
	}
	c.mu.Unlock()
	if i < 0 {
		return notFound
	}
	o.Release()
	return 0
}

// each calls call for each object that is registered for id. It does not hold the lock meanwhile, but a reference to each object: one may
// be removed while it is called.
func (c *callbacks) each(id string, call func(*com.Object)) {
	c.mu.Lock()
	list := slices.Clone(c.lists[id])
	for _, o := range list {
		_ = o.Call(addRef)
	}
	c.mu.Unlock()
	for _, o := range list {
		call(o)
		o.Release()
	}
}

func (c *callbacks) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, list := range c.lists {
		n += len(list)
	}
	return n
}
