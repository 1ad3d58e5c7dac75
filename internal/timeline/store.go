package timeline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unsafe"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// store holds lanes and their changes. A change is a few numbers: values and texts, which many have in common, are kept once.
type store struct {
	lanes  map[key]*lane
	ids    []*lane           // by record.lane
	values []value           // by record.from and to; the first one is for a lane without a value
	known  map[value]uint32  // indices in values
	texts  map[string]string // each text once
	extra  int               // bytes of texts and conditions
	chunks [][]record
	first  uint64 // index of the first record of chunks, counted from the beginning of the ring
}

// key identifies a lane.
type key struct {
	kind         Kind
	client       string
	clientNumber int
	product      string
	number       int
	device       string
	flag         devices.Field
	code         health.Code
	subject      string
}

// ofList reports whether the lane is about the list of a client.
func (k key) ofList() bool { return k.kind == KindListed || k.kind == KindAcknowledged }

type lane struct {
	key
	name      string           // of its product
	condition health.Condition // which is shown
	extra     int              // its bytes

	id      uint32
	now     uint32        // its value
	records int           // how many it has
	last    uint64        // index of its last record
	credit  time.Duration // when its burst is full again: as in a token bucket, each change moves it into the future by refill
	pass    uint64        // in which it was last mentioned
}

type value struct {
	state  string
	origin devices.Origin
	detail string
}

// about returns what the lane is about.
func (l *lane) about() Subject {
	s := Subject{Kind: l.kind, Client: Numbered(l.client, l.clientNumber), Product: l.product, Name: l.name, Device: l.device, Flag: l.flag}
	if l.number > 1 {
		s.Number = l.number
	}
	return s
}

// record is one change, or several. It has no pointers, so that the garbage collector does not scan it.
type record struct {
	at, until time.Duration
	lane      uint32
	from, to  uint32
	count     uint32
}

// chunk is how many records are allocated, and dropped, at once.
const chunk = 256

// The cost of each, in bytes: the struct, its entry in a map, and rounding by the runtime.
const (
	recordCost = int(unsafe.Sizeof(record{}))
	laneCost   = int(unsafe.Sizeof(lane{})+unsafe.Sizeof(key{})) + 64
	valueCost  = 2*int(unsafe.Sizeof(value{})) + 32
	textCost   = 2*int(unsafe.Sizeof("")) + 32
)

func newStore() store {
	return store{lanes: make(map[key]*lane), values: make([]value, 1), known: make(map[value]uint32), texts: make(map[string]string)}
}

// fixed returns the size of everything but the records.
func (s *store) fixed() int { return len(s.lanes)*laneCost + len(s.values)*valueCost + s.extra }

func (s *store) size() int { return s.fixed() + len(s.chunks)*chunk*recordCost }

// text returns a copy of a text, the same one for equal texts.
func (s *store) text(t string) string {
	if t == "" {
		return ""
	}
	if kept, ok := s.texts[t]; ok {
		return kept
	}
	t = strings.Clone(t)
	s.texts[t] = t
	s.extra += len(t) + textCost
	return t
}

// add makes the lane of a key.
func (s *store) add(k key, name string) *lane {
	k.client, k.product, k.device, k.subject = s.text(k.client), s.text(k.product), s.text(k.device), s.text(k.subject)
	l := &lane{key: k, name: s.text(name), id: uint32(len(s.ids))}
	s.ids, s.lanes[k] = append(s.ids, l), l
	return l
}

// describe keeps a condition as it is now.
func (s *store) describe(l *lane, c health.Condition) {
	text, _ := json.Marshal(c) // of strings
	l.condition = c
	s.extra += 2*len(text) - l.extra
	l.extra = 2 * len(text)
}

// value returns the index of a value, and stores it if necessary.
func (s *store) value(v value) uint32 {
	if id, ok := s.known[v]; ok {
		return id
	}
	v.detail, v.origin.Detail = s.text(v.detail), s.text(v.origin.Detail)
	s.values = append(s.values, v)
	s.known[v] = uint32(len(s.values) - 1)
	return s.known[v]
}

// note adds a change to a lane or, if the lane has changed too often, merges it into the last one.
func (s *store) note(l *lane, at time.Duration, v value) {
	from := l.now
	l.now = s.value(v)
	if last := s.record(l); last != nil {
		at = max(at, last.at, last.until)
		if at+burst*refill-refill < l.credit {
			last.until, last.to = at, l.now
			last.count++
			return
		}
	}
	l.credit = max(l.credit, at) + refill
	if n := len(s.chunks); n == 0 || len(s.chunks[n-1]) == chunk {
		s.chunks = append(s.chunks, make([]record, 0, chunk))
	}
	end := &s.chunks[len(s.chunks)-1]
	*end = append(*end, record{at: at, lane: l.id, from: from, to: l.now, count: 1})
	l.last = s.first + uint64(len(s.chunks)-1)*chunk + uint64(len(*end)-1)
	l.records++
}

// record returns the last record of a lane; nil: it has none any more.
func (s *store) record(l *lane) *record {
	if l.records == 0 {
		return nil
	}
	i := l.last - s.first
	return &s.chunks[i/chunk][i%chunk]
}

// drop removes the oldest records, and what only they needed. It returns since when no record is missing.
func (s *store) drop() (from time.Duration, ok bool) {
	if len(s.chunks) < 2 {
		return 0, false
	}
	for _, r := range s.chunks[0] {
		s.ids[r.lane].records--
		from = max(from, r.at, r.until)
	}
	s.chunks[0] = nil
	s.chunks, s.first = s.chunks[1:], s.first+chunk
	s.compact()
	return from, true
}

// endValues are the values with which a lane is not kept if all its changes were dropped.
var endValues = map[string]bool{Absent: true, Gone: true, Ended: true, Unknown: true}

// compact drops what no record and no lane needs any more, and renumbers the rest.
func (s *store) compact() {
	old := *s
	*s = newStore()
	s.chunks, s.first = append([][]record(nil), old.chunks...), old.first
	ids := make([]uint32, len(old.values)) // new ones by old ones, so that few values are hashed
	value := func(id uint32) uint32 {
		if id != 0 && ids[id] == 0 {
			ids[id] = s.value(old.values[id])
		}
		return ids[id]
	}
	for k, l := range old.lanes {
		if l.records == 0 && endValues[old.values[l.now].state] {
			continue
		}
		kept := s.add(k, l.name)
		fresh := *kept
		*kept = *l
		kept.key, kept.name, kept.id, kept.now, kept.extra = fresh.key, fresh.name, fresh.id, value(l.now), 0
		if l.extra > 0 {
			s.describe(kept, l.condition)
		}
		old.ids[l.id] = kept // found below by its old number
	}
	for _, c := range s.chunks {
		for i := range c {
			r := &c[i]
			r.lane, r.from, r.to = old.ids[r.lane].id, value(r.from), value(r.to)
		}
	}
}

// show returns all lanes, with times of the wall clock.
func (s *store) show(wall func(time.Duration) time.Time) []Lane {
	order := slices.SortedStableFunc(slices.Values(s.ids), (*lane).compare)
	place := make([]int, len(order)) // by lane.id
	lanes := make([]Lane, len(order))
	for i, l := range order {
		place[l.id] = i
		lanes[i] = Lane{Subject: l.about(), AtStart: s.values[l.now].state, Changes: make([]Change, 0, l.records)}
		if l.extra > 0 {
			lanes[i].Condition = new(l.condition)
		}
	}
	for _, c := range s.chunks {
		for _, r := range c {
			l, to := &lanes[place[r.lane]], s.values[r.to]
			change := Change{At: wall(r.at), From: s.values[r.from].state, To: to.state, Detail: to.detail}
			if r.count > 1 {
				change.Count, change.Until = int(r.count), wall(r.until)
			}
			if to.origin != (devices.Origin{}) {
				change.Origin = &to.origin
			}
			if len(l.Changes) == 0 {
				l.AtStart = change.From
			}
			l.Changes = append(l.Changes, change)
		}
	}
	return lanes
}

// compare defines the order in which lanes are shown.
func (l *lane) compare(o *lane) int {
	return cmp.Or(
		cmp.Compare(slices.Index(kinds, l.kind), slices.Index(kinds, o.kind)),
		strings.Compare(l.client, o.client), cmp.Compare(l.clientNumber, o.clientNumber),
		strings.Compare(l.product, o.product), cmp.Compare(l.number, o.number), strings.Compare(l.device, o.device),
		cmp.Compare(slices.Index(devices.Fields, l.flag), slices.Index(devices.Fields, o.flag)),
		cmp.Compare(l.code, o.code), strings.Compare(l.subject, o.subject),
	)
}
