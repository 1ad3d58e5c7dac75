package control

import (
	"bytes"
	"io"
	"net/http"
)

// metrics answers in the text format 0.0.4 of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	s.export(w, r, "text/plain; version=0.0.4; charset=utf-8", s.backend.Metrics)
}

// bundle answers with the zip archive for support.
func (s *Server) bundle(w http.ResponseWriter, r *http.Request) {
	s.export(w, r, "application/zip", func(archive io.Writer) error {
		err := s.backend.Bundle(archive)
		if err == nil {
			w.Header().Set("Content-Disposition", `attachment; filename="bundle.zip"`)
		}
		return err
	})
}

// export answers with what write writes, once it is whole.
func (s *Server) export(w http.ResponseWriter, r *http.Request, contentType string, write func(io.Writer) error) {
	if !s.noBody(w, r) {
		return
	}
	var body bytes.Buffer
	if err := write(&body); err != nil {
		s.refuse(w, problem(http.StatusInternalServerError, CodeInternal, "%s could not be made: %v", r.URL.Path, err))
		return
	}
	s.send(w, http.StatusOK, contentType, body.Bytes())
}
