package rpcclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"sidetone/internal/signal"
)

// Store keeps a short text that outlasts this process. files.Text of the platform is one.
type Store interface {
	Read() ([]byte, error) // fs.ErrNotExist: there is none
	Write([]byte) error    // replaces it as a whole
}

// maxRemembered bounds how many clients are remembered.
const maxRemembered = 32

// memory knows which clients have answered the command, until they restart, and when they have all of their tokens again. It outlasts the
// loss of a client's socket and any end of the agent: one that was killed has left its list in the client, and the next one must not take a
// client that is merely busy for one that does not know the command (rule R48), nor ask more of it than it lets through.
type memory struct {
	mu      sync.Mutex
	known   []knownClient // the oldest first
	changed signal.Signal
	stored  []byte // what the store holds, as far as is known; owned by write
}

// knownClient is what is remembered of a client.
type knownClient struct {
	clientKey
	TokensFull time.Time `json:"tokens_full,omitzero"`
}

// clientKey tells a client that has answered from others, and from the next one in its place.
type clientKey struct {
	Socket  string `json:"socket,omitempty"` // its identity; where the system shows none, its path
	Port    uint64 `json:"port,omitempty"`   // the identity of the listener
	PID     int    `json:"pid,omitempty"`
	Started uint64 `json:"started,omitempty"` // when the process was started, see local.Lineage
}

// same reports whether a and b are the same client since the same start. A process may open its socket anew.
func (a clientKey) same(b clientKey) bool {
	samePlace := a.Socket != "" && a.Socket == b.Socket || a.Port != 0 && a.Port == b.Port
	return (samePlace || a.Started != 0) && a.PID == b.PID && a.Started == b.Started
}

// read makes the memory what the store holds. A text that it does not understand is that of another program, or damaged: then nothing
// is remembered, and the next write replaces it.
func (m *memory) read(store Store) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.stored = m.text() }()
	if store == nil {
		return nil
	}
	text, err := store.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var known []knownClient
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil {
		return err
	}
	m.known = known[max(0, len(known)-maxRemembered):]
	return nil
}

// text returns what is to be stored. mu is held.
func (m *memory) text() []byte {
	text, err := json.Marshal(m.known)
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

// write stores the memory as a whole after each change, and once more when ctx ends. After a failed write it is tried again with the next
// answer of any client to its first list. It is called in a goroutine of its own: no list waits for a file.
func (m *memory) write(ctx context.Context, store func() Store, failed func(error)) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-m.changed:
		}
		m.mu.Lock()
		text := m.text()
		m.mu.Unlock()
		to := store()
		if to == nil || bytes.Equal(text, m.stored) {
			continue
		}
		if err := to.Write(text); err != nil {
			failed(err)
			continue
		}
		m.stored = text
	}
}

// find returns what is remembered of the client a.
func (m *memory) find(a clientKey) (k knownClient, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.known, a.isOf); i >= 0 {
		return m.known[i], true
	}
	return k, false
}

func (a clientKey) isOf(k knownClient) bool { return a.same(k.clientKey) }

// add notes that the client a has answered, and when it has all of its tokens again.
func (m *memory) add(a clientKey, tokensFull time.Time) {
	if a.Socket == "" && a.Port == 0 {
		return // it could not be told from another one
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = append(slices.DeleteFunc(m.known, a.isOf), knownClient{a, tokensFull})
	if over := len(m.known) - maxRemembered; over > 0 {
		m.known = slices.Delete(m.known, 0, over)
	}
	m.changed.Notify()
}

// forget notes that the client a has ended although its place is still there, which was a relay's.
func (m *memory) forget(a clientKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.known)
	if m.known = slices.DeleteFunc(m.known, a.isOf); len(m.known) < before {
		m.changed.Notify()
	}
}

// keyOf returns how p, at this location, is remembered.
func (c *Client) keyOf(p *peer, at location) clientKey {
	a := clientKey{Socket: at.socket.ID, Port: at.port.ID, PID: at.PID}
	c.locked(func() {
		if p.lineagePID == at.PID {
			a.Started = p.lineage.Started
		}
	})
	if a.Socket == "" && a.Started != 0 { // a pipe
		a.Socket = at.socket.Path
	}
	return a
}
