package wasapi

import (
	"sync"

	"sidetone/internal/devices"
)

// A muteWatch tells changes of an endpoint's mute from those of its volume, which come with them and in bursts. A mute that was heard
// is never reported: it has the mute read.
type muteWatch struct {
	changed func()

	mu    sync.Mutex
	mute  devices.Tri // as it was heard or read last; unknown: whatever is heard is news
	heard int         // how often the endpoint has said something
	due   bool        // the mute is to be read
}

// hear takes what the endpoint says.
func (w *muteWatch) hear(mute devices.Tri) {
	w.mu.Lock()
	news := w.mute != mute
	w.mute = mute
	w.heard++
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

// read reads the mute. What was heard meanwhile may be older or newer than what was read: then whatever comes next is news.
func (w *muteWatch) read(ask func() (devices.Tri, error)) (devices.Tri, error) {
	w.mu.Lock()
	before := w.heard
	w.mu.Unlock()
	mute, err := ask()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = mute
	if w.heard != before {
		w.mute = devices.Unknown
	}
	return mute, err
}
