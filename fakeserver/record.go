package fakeserver

import (
	"slices"
	"time"
)

// A Transport is the way a payload came.
type Transport string

// The transports.
const (
	WebSocket Transport = "websocket"
	HTTP      Transport = "http"
	IPC       Transport = "ipc"
)

// A Side is one end of a connection.
type Side string

// The sides.
const (
	Sender   Side = "sender"
	Receiver Side = "receiver" // the server itself: it stopped, restarted, or closed its connections
)

// A Payload is one message as it was received. What it points to is shared
// with the server and must not be changed.
type Payload struct {
	Seq       int       // 1 for the first payload of the server, and so on
	Time      time.Time // when its last byte was read, before any wait in line; with a monotonic reading
	Transport Transport
	Conn      int      // which connection, counted from 1 as they were accepted
	ClientID  string   // as claimed by the request
	Nonce     string   // one that is no text: as JSON
	Raw       []byte   // as received; nil when it was larger than the client takes, or dropped from the line
	Devices   []Device // the list it carried; nil when that could not be read
	Previous  []Device // the list of the same client id that was in force before
	Err       error    // why the list was not taken, a *Rejection; nil when it was
	Warnings  []string // what the client lets pass and an agent should not do
	Fault     FaultKind
	EndedBy   Side // who ended the connection while the request waited in line; empty: nobody did
}

// parse reads the text of the payload and fills in what it says.
func (p *Payload) parse(text []byte, desktop bool) message {
	m := parse(text, desktop)
	switch nonce := m.nonce.(type) {
	case nil:
	case string:
		p.Nonce = nonce
	default:
		p.Nonce = string(mustJSON(nonce))
	}
	p.Devices = m.devices
	p.Warnings = append(p.Warnings, m.warnings...)
	return m
}

// withoutOversized forgets the text of a payload that is too large.
func (p Payload) withoutOversized() Payload {
	if len(p.Raw) > maxMessage {
		p.Raw = nil
	}
	return p
}

// maxKept bounds the memory of the record, in bytes of payloads.
const maxKept = 256 << 20

// A record keeps the latest payloads.
type record struct {
	list  []Payload
	limit int // payloads kept
	bytes int // of all of them
	total int // payloads ever
}

func (r *record) add(p Payload) {
	r.list = append(r.list, p)
	r.bytes += len(p.Raw)
	r.total = p.Seq
	for len(r.list) > r.limit || r.bytes > maxKept {
		r.bytes -= len(r.list[0].Raw)
		r.list[0] = Payload{}
		r.list = r.list[1:]
	}
}

// after returns the oldest kept payload with a higher number than seq.
func (r *record) after(seq int) (Payload, bool) {
	i, _ := slices.BinarySearchFunc(r.list, seq+1, func(p Payload, seq int) int { return p.Seq - seq })
	if i == len(r.list) {
		return Payload{}, false
	}
	return r.list[i], true
}

// maxClients bounds the number of client ids whose lists are stored.
const maxClients = 64

// A store holds the accepted list of every client id, that of the last
// reporter last. Like the client's own store it outlives connections and runs
// (rules R49, R50).
type store []clientList

type clientList struct {
	ClientID string   `json:"client_id"`
	Devices  []Device `json:"devices"`
}

func (s store) of(clientID string) []Device {
	for _, l := range s {
		if l.ClientID == clientID {
			return l.Devices
		}
	}
	return nil
}

func (s store) last() []Device {
	if len(s) == 0 {
		return nil
	}
	return s[len(s)-1].Devices
}

// put replaces the list of a client id, and returns the devices that were in
// lists which are no more.
func (s *store) put(clientID string, devices []Device) (gone []Device) {
	for i, l := range *s {
		if l.ClientID == clientID {
			gone = l.Devices
			*s = slices.Delete(*s, i, i+1)
			break
		}
	}
	if len(*s) == maxClients {
		gone = slices.Concat(gone, (*s)[0].Devices)
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, clientList{clientID, devices})
	return gone
}

// restarted is what a start of the client does to the store.
func (s store) restarted() {
	for i := range s {
		s[i].Devices = unmuted(s[i].Devices)
	}
}

// A registry is the one flat map in which the client looks devices up: ids of
// all lists, in which the last entry wins (rule R56).
type registry map[string]registered

type registered struct {
	device Device
	list   []Device // it came in
}

// replace takes the ids of an old list out and puts those of a new one in. An id
// that another client id has reported meanwhile goes all the same (rule R90).
func (r registry) replace(old, list []Device) {
	for _, d := range old {
		delete(r, d.ID)
	}
	for _, d := range list {
		r[d.ID] = registered{d, list}
	}
}

// registry is what a start of the client makes of the lists.
func (s store) registry() registry {
	r := registry{}
	for _, l := range s {
		r.replace(nil, l.Devices)
	}
	return r
}
