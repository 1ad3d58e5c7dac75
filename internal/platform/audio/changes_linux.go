package audio

import "sync"

// changeSet is a set of what events are about.
type changeSet uint8

// Each has its own reading; allChanged is for what requires a full one.
const (
	sourceChanged  changeSet = 1 << iota // one source
	sinksChanged                         // some sinks
	streamsChanged                       // some streams that record
	mixerChanged                         // an ALSA card has been read
	allChanged
)

// pendingChanges collects changes until they are taken.
type pendingChanges struct {
	mu     sync.Mutex
	what   changeSet
	source uint32 // index of the changed source, with sourceChanged
}

// add records a change. When a second source changes, everything is read.
func (p *pendingChanges) add(what changeSet, source uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if what == sourceChanged && p.what&sourceChanged != 0 && p.source != source {
		what = allChanged
	}
	p.what |= what
	if what == sourceChanged {
		p.source = source
	}
}

// take returns and resets the changes.
func (p *pendingChanges) take() (what changeSet, source uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what, source = p.what, p.source
	p.what, p.source = 0, 0
	return what, source
}
