package audio

import "sync"

// changeSet are what an event can be about.
type changeSet uint8

// What is not one of the first four needs everything read again.
const (
	sourceChanged    changeSet = 1 << iota // one source
	sinksChanged                           // some sinks
	mixerChanged                           // an ALSA card was read
	miniaudioChanged                       // a result is there
	allChanged
)

// pendingChanges collects what has changed since it was last taken.
type pendingChanges struct {
	mu     sync.Mutex
	what   changeSet
	source uint32 // index of the changed source, with sourceChanged
}

// add notes a change. A second changed source is one too many to read them singly.
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

// take returns what has changed, and starts over.
func (p *pendingChanges) take() (what changeSet, source uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what, source = p.what, p.source
	p.what, p.source = 0, 0
	return what, source
}
