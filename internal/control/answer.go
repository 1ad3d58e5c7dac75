package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// problem makes the answer to a request that is refused.
func problem(status int, code Code, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// refuse answers with p.
func (s *Server) refuse(w http.ResponseWriter, p *Problem) { s.sendJSON(w, p.Status, p) }

// sendJSON answers with v.
func (s *Server) sendJSON(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		s.log.Error("an answer of the control API cannot be written as JSON", "err", err)
		const failed = `{"code":"internal","error":"the agent failed: the answer cannot be written as JSON"}` + "\n"
		status, body = http.StatusInternalServerError, []byte(failed)
	}
	s.send(w, status, "application/json", body)
}

// withEmptyLists is what a Backend says with empty lists instead of none at all.
func withEmptyLists(status Status) Status {
	status.Sources = list(status.Sources)
	status.Products = list(status.Products)
	status.HID = list(status.HID)
	status.Pushes = list(status.Pushes)
	status.Clients.Sessions = list(status.Clients.Sessions)
	status.Conditions = list(status.Conditions)
	return status
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// encode writes v as one line of JSON.
func encode(v any) ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return line.Bytes(), err
}

// send answers with body, which the peer has to take in time.
func (s *Server) send(w http.ResponseWriter, status int, contentType string, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.write))
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a peer that has gone needs no answer
}
