package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// admit returns why a request is not even looked at, or nil. No browser and no relay of one
// gets through: they name where they come from, or the host that they were sent to.
func (s *Server) admit(r *http.Request) *Problem {
	if connOf(r).surplus {
		return problem(http.StatusServiceUnavailable, CodeBusy,
			"too many connections (more than %d): close those that are no longer used", s.limits.connections)
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

// noBody refuses a request that has a body where none is wanted, and says whether to go on.
func (s *Server) noBody(w http.ResponseWriter, r *http.Request) bool {
	if r.ContentLength != 0 {
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "%s %s takes no body", r.Method, r.URL.Path))
		return false
	}
	return true
}

// readJSON returns the body, or refuses the request and returns false.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	tooLarge := problem(http.StatusRequestEntityTooLarge, CodeTooLarge, "the body is larger than %d bytes", s.limits.body)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		s.refuse(w, problem(http.StatusUnsupportedMediaType, CodeMediaType, "the body must be JSON: send it with Content-Type: application/json"))
		return nil, false
	}
	if r.ContentLength > s.limits.body {
		s.refuse(w, tooLarge)
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.body))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		s.refuse(w, tooLarge)
		return nil, false
	case err != nil:
		w.Header().Set("Connection", "close")
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "the body did not arrive whole (%v): send it again", err))
		return nil, false
	}
	return body, true
}

// checkJSON says where body is not one value of JSON in UTF-8.
func checkJSON(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("$: the body is not UTF-8")
	}
	if json.Valid(body) {
		return nil
	}
	err := json.Unmarshal(body, new(json.RawMessage))
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return errors.New("$: the body is empty; want a JSON object")
	case errors.As(err, &syntax):
		return fmt.Errorf("$: not JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// members takes apart the object at path of a body that passes checkJSON. Names count as they
// are written, and once.
func members(value json.RawMessage, path string) (map[string]json.RawMessage, error) {
	if kind := kindOf(value); kind != "an object" {
		return nil, fmt.Errorf("%s: want an object, not %s", path, kind)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := make(map[string]json.RawMessage)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		key := name.(string) // names of members are text
		var member json.RawMessage
		if err := d.Decode(&member); err != nil {
			return nil, fmt.Errorf("%s.%.40s: %w", path, key, err)
		}
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("%s.%.40s: given twice", path, key)
		}
		all[key] = member
	}
	return all, nil
}

// kindOf names the kind of a JSON value, for people.
func kindOf(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return "nothing"
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "a list"
	case value[0] == '"':
		return "text"
	case value[0] == 't', value[0] == 'f':
		return string(value)
	case value[0] == 'n':
		return "null"
	}
	return "a number"
}
