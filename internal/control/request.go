package control

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// checkOrigin refuses connections beyond the share of a process, and whatever a browser may have sent, itself or through a relay: such
// requests name where they come from, or the host that they were sent to.
func (s *Server) checkOrigin(r *http.Request) error {
	if connOf(r).surplus {
		return problem(http.StatusServiceUnavailable, CodeBusy,
			"too many connections of this program (more than %d): close those that are no longer used", s.limits.share)
	}
	for name := range r.Header {
		if name == "Origin" || name == "Referer" || strings.HasPrefix(name, "Sec-Fetch-") {
			return problem(http.StatusForbidden, CodeForbidden, "a request with %s comes from a web page, and none is let in", name)
		}
	}
	switch r.Host {
	case "", "sidetone", "localhost":
		return nil
	}
	return problem(http.StatusForbidden, CodeForbidden,
		"a request for the host %.80q was not meant for this agent; use http://sidetone/", r.Host)
}

// readBody returns the body of a request that is to have one of JSON, or none.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, wanted bool) ([]byte, error) {
	tooLarge := problem(http.StatusRequestEntityTooLarge, CodeTooLarge, "the body is larger than %d bytes", s.limits.body)
	switch kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case !wanted && r.ContentLength == 0:
		return nil, nil
	case !wanted:
		return nil, invalid("%s %s takes no body", r.Method, r.URL.Path)
	case err != nil || kind != "application/json":
		return nil, problem(http.StatusUnsupportedMediaType, CodeMediaType, "the body must be JSON: send it with Content-Type: application/json")
	case r.ContentLength > s.limits.body:
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.body))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, invalid("the body did not arrive whole (%v): send it again", err)
	}
	return body, nil
}
