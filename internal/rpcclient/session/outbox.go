package session

import (
	"sync"

	"sidetone/internal/devices"
	"sidetone/internal/signal"
)

// Outbox holds the newest snapshot for the session with one client. Put never blocks: it replaces a
// snapshot that was not taken.
type Outbox struct {
	mu     sync.Mutex
	snap   devices.Snapshot
	filled bool
	resend bool
	repeat bool // resend because of another application
	news   signal.Signal
}

// NewOutbox returns an empty one.
func NewOutbox() *Outbox { return &Outbox{news: signal.New()} }

// Put replaces the snapshot.
func (m *Outbox) Put(s devices.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snap, m.filled = s, true
	m.news.Notify()
}

// AskResend makes the next Take report that the whole list must be sent again.
func (m *Outbox) AskResend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend = true
	m.news.Notify()
}

// AskRepeat is like AskResend, with another application as the reason.
func (m *Outbox) AskRepeat() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend, m.repeat = true, true
	m.news.Notify()
}

// Take returns the newest snapshot (ok is false before the first one) and what was asked for since the last
// call. It clears the notification that announced them.
func (m *Outbox) Take() (s devices.Snapshot, ok, resend, repeat bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	resend, repeat, m.resend, m.repeat = m.resend, m.repeat, false, false
	m.news.Clear()
	return m.snap, m.filled, resend, repeat
}
