package control

import "net/http"

// record sends the lines of a recording until the peer wants no more, the Backend has none, or
// the server ends. A peer that takes nothing for long is cut off.
func (s *Server) record(w http.ResponseWriter, r *http.Request) {
	if !s.noBody(w, r) {
		return
	}
	select {
	case s.recordings <- struct{}{}:
		defer func() { <-s.recordings }()
	default:
		s.refuse(w, problem(http.StatusServiceUnavailable, CodeBusy, "%d recordings are made already: end one of them", cap(s.recordings)))
		return
	}
	s.stream(w, r)
	if s.flush(w, nil) != nil {
		return
	}
	// The peer sees by the last line, or that there is none, how this ends.
	_ = s.backend.Record(r.Context(), func(lines []byte) error { return s.flush(w, lines) })
}
