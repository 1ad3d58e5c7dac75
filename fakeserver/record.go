package fakeserver

import (
	"slices"
	"time"
)

// A Transport is the way in which a payload came.
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
	Receiver Side = "receiver" // the server itself: it stopped, restarted, or dropped its connections
)

// A Payload is one message as it was received. It shares its slices with the
// server; they must not be changed.
type Payload struct {
	Seq       int       // 1 for the first payload of the server, and so on
	Time      time.Time // when its last byte was read, before any wait in line; has a monotonic reading
	Transport Transport
	Conn      int       // number of the connection, from 1 in the order in which they were accepted
	ClientID  string    // as the request claims
	Nonce     string    // as JSON if it is not a string
	Raw       []byte    // as received; nil if it was larger than the client accepts, or dropped while it waited
	Devices   []Device  // the list it carried; nil if that could not be read
	Previous  []Device  // the list of the same client id that was in force before
	Err       error     // why the list was not accepted, a *Rejection; nil if it was
	Warnings  []string  // what the client accepts, but an agent should not do
	Fault     FaultKind // the fault that was applied
	EndedBy   Side      // who ended the connection before the request was answered; empty: nobody did
}

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

// maxKept bounds the memory of the record, in bytes of payloads.
const maxKept = 256 << 20

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

// maxClients bounds the number of client ids whose lists are stored.
const maxClients = 64

// A store holds the accepted list of each client id, in the order of their last
// reports. Like the client's own store it outlives connections and restarts (rules
// R49, R50).
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

// put replaces the list of a client id. It returns the devices of the lists that
// it removed.
func (s *store) put(clientID string, devices []Device) (gone []Device) {
	gone = s.of(clientID)
	*s = slices.DeleteFunc(*s, func(l clientList) bool { return l.ClientID == clientID })
	if len(*s) == maxClients {
		gone = slices.Concat(gone, (*s)[0].Devices)
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, clientList{clientID, devices})
	return gone
}

// restarted changes the lists as a start of the client does: every reported
// hardware_mute becomes false (rule R51).
func (s store) restarted() {
	for i := range s {
		s[i].Devices = slices.Clone(s[i].Devices) // recorded payloads share them
		for j := range s[i].Devices {
			if d := &s[i].Devices[j]; d.HardwareMute != nil {
				d.HardwareMute = new(false)
			}
		}
	}
}

// A registry is the one flat map by which the client finds devices: the ids of all
// lists, where the last entry wins (rule R56).
type registry map[string]registered

type registered struct {
	device Device
	list   []Device // in which it came
}

// replace removes the ids of an old list and adds those of a new one. It removes an
// id even if another client id has reported it meanwhile (rule R90).
func (r registry) replace(old, list []Device) {
	for _, d := range old {
		delete(r, d.ID)
	}
	for _, d := range list {
		r[d.ID] = registered{d, list}
	}
}

// registry returns what a start of the client makes of the lists.
func (s store) registry() registry {
	r := registry{}
	for _, l := range s {
		r.replace(nil, l.Devices)
	}
	return r
}
