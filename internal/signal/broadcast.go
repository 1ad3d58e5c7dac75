package signal

import "sync"

// A Broadcast wakes everyone who waits for a change. The zero value is ready to use.
type Broadcast struct {
	mu      sync.Mutex
	changed chan struct{} // nil when nobody waits
}

// Next returns a channel that is closed by the next Notify.
func (b *Broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// Notify wakes everyone who waits.
func (b *Broadcast) Notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}
