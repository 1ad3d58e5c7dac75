package devices

import "sync"

// nameCache keeps what the expressions of a catalogue come to for an endpoint: they depend on little of
// it, and the same endpoints are looked at again at every event.
type nameCache struct {
	mu    sync.Mutex
	byKey map[nameKey]nameMatches
}

// nameKey is all of an endpoint that the search by name depends on.
type nameKey struct {
	typ     Type
	bus     Bus
	virtual bool
	name    string
	id      string
}

type nameMatches struct {
	product *product   // the best that has a link which fits by name alone, or nil
	wanting []*product // those that name such a virtual endpoint
}

// maxNames bounds the cache against endless new names. More endpoints than that are not there at once.
const maxNames = 4096

// lookUp returns what the expressions come to for the endpoint, and keeps it.
func (m *matcher) lookUp(e *Endpoint) nameMatches {
	k := nameKey{e.Type, e.Bus, e.Virtual, e.Name, e.ID}
	m.known.mu.Lock()
	defer m.known.mu.Unlock()
	n, ok := m.known.byKey[k]
	if ok {
		return n
	}
	for _, c := range m.byName {
		if (n.product == nil || c.product.rank < n.product.rank) && c.fitsByName(e) {
			n.product = c.product
		}
	}
	if e.Virtual {
		for _, p := range m.products {
			if p.wantsVirtual(e) {
				n.wanting = append(n.wanting, p)
			}
		}
	}
	if m.known.byKey == nil || len(m.known.byKey) == maxNames {
		m.known.byKey = make(map[nameKey]nameMatches)
	}
	m.known.byKey[k] = n
	return n
}

// byNameOf returns the product with the best rank of those whose links fit e by name alone, or nil.
func (m *matcher) byNameOf(e *Endpoint) *product {
	if len(m.byName) == 0 || e.Bus == USB && !e.Virtual {
		return nil // that is found by its ids alone
	}
	return m.lookUp(e).product
}

// wanting returns the products that name such a virtual endpoint, in the order of priority.
func (m *matcher) wanting(e *Endpoint) []*product { return m.lookUp(e).wanting }
