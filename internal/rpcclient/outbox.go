package rpcclient

import (
	"sync"

	"sidetone/internal/devices"
	"sidetone/internal/signal"
)

// outbox holds the newest snapshot for one session. Putting never blocks; what was not taken
// is replaced.
type outbox struct {
	mu     sync.Mutex
	snap   devices.Snapshot
	filled bool
	resend bool
	repeat bool // it is asked for because of another application
	news   signal.Signal
}

func newOutbox() *outbox { return &outbox{news: signal.New()} }

func (m *outbox) put(s devices.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snap, m.filled = s, true
	m.news.Notify()
}

// askResend makes the next take say that the whole list must go out again.
func (m *outbox) askResend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend = true
	m.news.Notify()
}

// askRepeat is askResend because of another application.
func (m *outbox) askRepeat() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resend, m.repeat = true, true
	m.news.Notify()
}

// take returns the newest snapshot; ok is false before the first one. It clears what was asked, and
// the wake-up that announced what it returns.
func (m *outbox) take() (s devices.Snapshot, ok, resend, repeat bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	resend, repeat, m.resend, m.repeat = m.resend, m.repeat, false, false
	m.news.Clear()
	return m.snap, m.filled, resend, repeat
}
