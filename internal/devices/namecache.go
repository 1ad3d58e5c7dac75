package devices

import "sync"

// nameCache caches which of a catalogue's expressions match an endpoint, because the same endpoints are
// matched again at every event.
type nameCache struct {
	mu    sync.Mutex
	byKey map[nameKey]nameMatches
}

// nameKey is the part of an endpoint on which the match by name depends.
type nameKey struct {
	typ     Type
	bus     Bus
	virtual bool
	name    string
	id      string
}

type nameMatches struct {
	product *product   // the best one with a link that matches by name alone, or nil
	naming  []*product // those whose virtual_endpoints match it
}

// maxNames bounds the cache against ever new names. It is far more endpoints than exist at once.
const maxNames = 4096

// lookUp returns the matches of an endpoint, from the cache if possible.
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
				n.naming = append(n.naming, p)
			}
		}
	}
	if m.known.byKey == nil || len(m.known.byKey) == maxNames {
		m.known.byKey = make(map[nameKey]nameMatches)
	}
	m.known.byKey[k] = n
	return n
}

// byNameOf returns the best-ranked product with a link that matches e by name alone, or nil.
func (m *matcher) byNameOf(e *Endpoint) *product {
	if len(m.byName) == 0 || e.Bus == USB && !e.Virtual {
		return nil // USB hardware is matched by its ids alone
	}
	return m.lookUp(e).product
}

// naming returns the products whose virtual_endpoints match e, in the order of priority.
func (m *matcher) naming(e *Endpoint) []*product { return m.lookUp(e).naming }
