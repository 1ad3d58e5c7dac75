package rpcclient

import (
	"sync"

	"sidetone/internal/devices"
	"sidetone/internal/signal"
)

// outbox holds the newest snapshot for the session with one client. put never blocks: it replaces a
// snapshot that was not taken.
type outbox struct {
	mu     sync.Mutex
	snap   devices.Snapshot
	filled bool
	resend bool
	repeat bool // resend because of another application
	news   signal.Signal
}

func newOutbox() *outbox { return &outbox{news: signal.New()} }

func (m *outbox) put(s devices.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snap, m.filled = s, true
	m.news.Notify()
}

// askResend makes the next take report that the whole list must be sent again.
func (m *outbox) askResend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend = true
	m.news.Notify()
}

// askRepeat is like askResend, with another application as the reason.
func (m *outbox) askRepeat() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend, m.repeat = true, true
	m.news.Notify()
}

// take returns the newest snapshot (ok is false before the first one) and what was asked for since the last
// call. It clears the notification that announced them.
func (m *outbox) take() (s devices.Snapshot, ok, resend, repeat bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	resend, repeat, m.resend, m.repeat = m.resend, m.repeat, false, false
	m.news.Clear()
	return m.snap, m.filled, resend, repeat
}
