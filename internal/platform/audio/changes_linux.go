package audio

import "sync"

// dirtyBits are what an event can be about.
type dirtyBits uint8

// What is not one of the first four needs everything read again.
const (
	dirtySource    dirtyBits = 1 << iota // one source
	dirtySinks                           // some sinks
	dirtyMixer                           // an ALSA card was read
	dirtyMiniaudio                       // a result is there
	dirtyAll
)

// dirt collects what has changed since it was last taken.
type dirt struct {
	mu     sync.Mutex
	what   dirtyBits
	source uint32 // index of the changed source, with dirtySource
}

// add notes a change. A second changed source is one too many to read them singly.
func (d *dirt) add(what dirtyBits, source uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if what == dirtySource && d.what&dirtySource != 0 && d.source != source {
		what = dirtyAll
	}
	d.what |= what
	if what == dirtySource {
		d.source = source
	}
}

// take returns what has changed, and starts over.
func (d *dirt) take() (what dirtyBits, source uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	what, source = d.what, d.source
	d.what, d.source = 0, 0
	return what, source
}
