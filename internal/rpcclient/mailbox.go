package rpcclient

import (
	"sync"

	"sidetone/internal/devices"
	"sidetone/internal/signal"
)

// mailbox holds the newest snapshot for one session. Putting never blocks; what was not taken
// is replaced.
type mailbox struct {
	mu     sync.Mutex
	snap   devices.Snapshot
	filled bool
	resend bool
	repeat bool // it is asked for because of another application
	news   signal.Signal
}

func newMailbox() *mailbox { return &mailbox{news: signal.New()} }

func (m *mailbox) put(s devices.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snap, m.filled = s, true
	m.news.Notify()
}

// askResend makes the next take say that the whole list must go out again.
func (m *mailbox) askResend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend = true
	m.news.Notify()
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

// take returns the newest snapshot; ok is false before the first one. It clears resend and
// the wake-up that announced what it returns.
func (m *mailbox) take() (s devices.Snapshot, ok, resend bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	resend, m.resend = m.resend, false
	m.news.Clear()
	return m.snap, m.filled, resend
}
