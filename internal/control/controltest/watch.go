// Package controltest is what tests of other packages need of the local API.
package controltest

import (
	"encoding/json"
	"net/http"
	"sync"

	"sidetone/internal/control"
)

// A Watch answers as GET /v1/watch of an agent does: with each status that it is told, for as long as it is asked.
type Watch struct {
	mu      sync.Mutex
	status  control.Status
	changed chan struct{} // closed when there is another status
}

// NewWatch returns the Watch of an agent that begins with that status.
func NewWatch(s control.Status) *Watch { return &Watch{status: s, changed: make(chan struct{})} }

// Say changes the status.
func (a *Watch) Say(s control.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = s
	close(a.changed)
	a.changed = make(chan struct{})
}

// Status returns the newest one.
func (a *Watch) Status() control.Status {
	s, _ := a.now()
	return s
}

func (a *Watch) now() (control.Status, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status, a.changed
}

func (a *Watch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for {
		status, changed := a.now()
		if json.NewEncoder(w).Encode(control.Change{Status: status}) != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
