package wasapi

import (
	"sync"

	"sidetone/internal/devices"
)

// A muteWatch tells changes of an endpoint's mute from those of its volume, which come with them and in bursts. A mute that was heard
// is never reported: it has the mute read.
type muteWatch struct {
	changed func()

	mu   sync.Mutex
	mute devices.Tri // as it was heard or read last; unknown: whatever is heard is news
	due  bool        // the mute is to be read
}

// hear takes what the endpoint says.
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

// take returns whether the mute is to be read because of what was heard, and starts over.
func (w *muteWatch) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := w.due
	w.due = false
	return due
}

// read reads the mute. What is heard meanwhile may be older or newer than what was read, and is news, whatever it is.
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
