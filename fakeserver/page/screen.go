package page

import (
	"reflect"
	"slices"
	"sync"

	"sidetone/fakeserver"
)

const (
	maxShown   = 200 // payloads of one client that are shown
	maxDevices = 100 // devices of one list that are shown
)

// A screen is what is shown of one client.
type screen struct {
	srv  *fakeserver.Server
	name string

	mu       sync.Mutex
	head     headView
	lists    []listView
	version  int           // of the lists
	payloads []payloadView // the latest, the oldest first
	seen     int           // Seq of the last payload that was added
}

// update takes over what has changed, but only the latest of many payloads.
func (s *screen) update() {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.srv.Stats().Payloads
	for s.seen = max(s.seen, total-maxShown); s.seen < total; {
		p, ok := s.srv.NextPayload(s.seen)
		if !ok {
			break
		}
		s.seen = p.Seq
		s.payloads = append(s.payloads, payloadOf(p))
	}
	s.payloads = slices.Delete(s.payloads, 0, max(0, len(s.payloads)-maxShown))
	s.head = headOf(s.srv, s.name)
	var lists []listView
	for _, app := range slices.Sorted(slices.Values(s.srv.ClientIDs())) {
		if list := s.srv.DevicesOf(app); len(list) > 0 {
			lists = append(lists, listOf(app, list))
		}
	}
	if !reflect.DeepEqual(lists, s.lists) {
		s.lists = lists
		s.version++
	}
}

// A cursor is what one browser knows of a screen. The zero value is nothing.
type cursor struct {
	head    headView
	version int
	seq     int
}

// An update is what a browser does not know yet.
type update struct {
	Client   int           `json:"client"` // which one, counted from 0
	Head     headView      `json:"head"`
	Lists    *[]listView   `json:"lists,omitempty"`    // all of them, when one has changed
	Payloads []payloadView `json:"payloads,omitempty"` // the new ones, the oldest first
}

// since returns what has changed since the cursor, and moves it. A slow browser gets the latest
// state and the payloads that are left.
func (s *screen) since(c *cursor) (n update, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.Head = s.head
	changed = s.head != c.head
	if s.version != c.version {
		lists := s.lists
		n.Lists, changed = &lists, true
	}
	if i := slices.IndexFunc(s.payloads, func(p payloadView) bool { return p.Seq > c.seq }); i >= 0 {
		n.Payloads, changed = slices.Clone(s.payloads[i:]), true
	}
	*c = cursor{s.head, s.version, s.seen}
	return n, changed
}
