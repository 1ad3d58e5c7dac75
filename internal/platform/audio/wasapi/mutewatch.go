package wasapi

import (
	"sync"

	"sidetone/internal/devices"
)

// A muteWatch separates changes of an endpoint's mute from those of its volume, which come in the same callbacks and in bursts. A mute
// from a callback is never reported: it only causes the mute to be read.
type muteWatch struct {
	changed func()

	mu   sync.Mutex
	mute devices.Tri // as last heard or read; unknown: anything heard counts as a change
	due  bool        // the mute must be read
}

// hear records the mute in a callback.
func (w *muteWatch) hear(mute devices.Tri) {
	w.mu.Lock()
	news := w.mute != mute
	w.mute = mute
	w.due = w.due || news
	w.mu.Unlock()
	if news {
		w.changed()
	}
}

// take reports, once, whether a callback requires the mute to be read.
func (w *muteWatch) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := w.due
	w.due = false
	return due
}

// read reads the mute. What is heard meanwhile may be older or newer than the result, so it counts as a change.
func (w *muteWatch) read(ask func() (devices.Tri, error)) (devices.Tri, error) {
	w.mu.Lock()
	w.mute = devices.Unknown
	w.mu.Unlock()
	mute, err := ask()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mute.Known() {
		w.mute = mute
	}
	return mute, err
}
