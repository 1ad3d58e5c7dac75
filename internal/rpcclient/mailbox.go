package rpcclient

import (
	"sync"

	"sidetone/internal/devices"
)

// mailbox holds the newest snapshot for one session. Putting never blocks; what was not taken
// is replaced.
type mailbox struct {
	mu     sync.Mutex
	snap   devices.Snapshot
	filled bool
	resend bool
	repeat bool // it is asked for because of another application
	notify chan struct{}
}

func newMailbox() *mailbox { return &mailbox{notify: make(chan struct{}, 1)} }

func (m *mailbox) put(s devices.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snap, m.filled = s, true
	m.ring()
}

// askResend makes the next take say that the whole list must go out again.
func (m *mailbox) askResend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend = true
	m.ring()
}

// askRepeat is askResend because of another application.
func (m *mailbox) askRepeat() {
	m.mu.Lock()
	m.repeat = true
	m.mu.Unlock()
	m.askResend()
}

// takeRepeat reports whether the list was asked for because of another application, since it was last called.
func (m *mailbox) takeRepeat() (repeat bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	repeat, m.repeat = m.repeat, false
	return repeat
}

// ring wakes the session. m.mu is held.
func (m *mailbox) ring() {
	select {
	case m.notify <- struct{}{}:
	default:
	}
}

// take returns the newest snapshot; ok is false before the first one. It clears resend and
// the wake-up that announced what it returns.
func (m *mailbox) take() (s devices.Snapshot, ok, resend bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	resend, m.resend = m.resend, false
	select {
	case <-m.notify:
	default:
	}
	return m.snap, m.filled, resend
}
