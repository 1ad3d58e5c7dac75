package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// A message is one server-sent event: first the whole state, then the changes.
type message struct {
	Start   string      `json:"start,omitempty"` // of the page; with everything only
	Faults  []faultView `json:"faults,omitempty"`
	Clients []update    `json:"clients"`
}

// serveEvents sends a browser the whole state and then each change, until the browser or the
// page is gone. Nothing is queued for a slow browser: as soon as it reads again, it gets the
// difference between what it knows and the current state.
func (p *Page) serveEvents(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	// The stream lives as long as the page; each message has a deadline of its own.
	_ = control.SetReadDeadline(time.Time{})
	cursors := make([]cursor, len(p.screens))
	event, m := "state", message{Start: p.start, Faults: p.faults}
	for {
		changed := p.changed.Next()
		for i, s := range p.screens {
			if n, ok := s.since(&cursors[i]); ok {
				n.Client = i
				m.Clients = append(m.Clients, n)
			}
		}
		if len(m.Clients) > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			data, _ := json.Marshal(m) // strings, numbers and booleans: cannot fail
			if _, err := fmt.Fprintf(w, "event: %s\nretry: 1000\ndata: %s\n\n", event, data); err != nil {
				return
			}
			if control.Flush() != nil {
				return
			}
			_ = control.SetWriteDeadline(time.Time{})
		}
		event, m = "change", message{}
		select {
		case <-changed:
		case <-req.Context().Done():
			return
		}
	}
}
