// Package controltest helps tests of other packages with the local API.
package controltest

import (
	"encoding/json"
	"net/http"
	"sync"

	"sidetone/internal/control"
)

// A Watch answers GET /v1/watch as an agent does: with each status that it is told, until the client leaves.
type Watch struct {
	mu      sync.Mutex
	status  control.Status
	changed chan struct{} // closed when there is another status
}

// NewWatch returns a Watch that begins with that status.
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
