package control

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"
)

// A handler returns what to answer a request with: a value that is sent as JSON, a rawAnswer, a stream, or nil for an answer without
// content. body is that of the request. An error is a *Problem, or one of a Backend.
type handler func(w http.ResponseWriter, r *http.Request, body []byte) (any, error)

// rawAnswer is an answer that is not JSON.
type rawAnswer struct {
	contentType string
	content     []byte
}

// stream writes an answer of lines until the peer, the Backend or the server ends it.
type stream func(w http.ResponseWriter)

// route is how a path is answered: each has one method.
type route struct {
	method  string
	hasBody bool // of JSON; requests for the other routes have none
	answer  handler
}

// statesPath is that of a push; the last part is any product.
const statesPath = "/v1/states/{product}"

func (s *Server) newRoutes() map[string]route {
	get := func(answer handler) route { return route{http.MethodGet, false, answer} }
	value := func(of func() any) route {
		return get(func(http.ResponseWriter, *http.Request, []byte) (any, error) { return of(), nil })
	}
	act := func(do func(w http.ResponseWriter, r *http.Request) error) route {
		return route{http.MethodPost, false, func(w http.ResponseWriter, r *http.Request, _ []byte) (any, error) { return nil, do(w, r) }}
	}
	return map[string]route{
		"/v1/status":    value(func() any { return s.backend.Status() }),
		"/v1/timeline":  value(func() any { return s.backend.Timeline() }),
		"/v1/devices":   value(func() any { return s.backend.Devices() }),
		"/v1/watch":     get(s.watch),
		"/v1/record":    get(s.record),
		"/v1/bundle":    get(s.bundle),
		"/v1/refresh":   act(func(http.ResponseWriter, *http.Request) error { s.backend.Refresh(); return nil }),
		"/v1/reload":    act(s.reload),
		"/v1/pause":     {http.MethodPost, true, s.pause},
		"/v1/resume":    act(func(http.ResponseWriter, *http.Request) error { s.backend.Resume(); return nil }),
		"/v1/stop":      act(s.stop),
		"/v1/upgrade":   act(s.upgrade),
		"/v1/log-level": {http.MethodPost, true, s.logLevel},
		statesPath:      {http.MethodPut, true, s.push},
	}
}

// bundle collects the archive before it answers: nothing of it is sent if it fails halfway.
func (s *Server) bundle(w http.ResponseWriter, r *http.Request, _ []byte) (any, error) {
	var archive bytes.Buffer
	if err := s.backend.Bundle(&archive); err != nil {
		return nil, problem(http.StatusInternalServerError, CodeInternal, "%s could not be made: %v", r.URL.Path, err)
	}
	w.Header().Set("Content-Disposition", `attachment; filename="bundle.zip"`)
	return rawAnswer{"application/zip", archive.Bytes()}, nil
}

func (s *Server) reload(http.ResponseWriter, *http.Request) error {
	if err := s.backend.Reload(); err != nil {
		return problem(http.StatusUnprocessableEntity, CodeInvalid, "the old settings and catalogue stay in force: %v", err)
	}
	return nil
}

func (s *Server) pause(_ http.ResponseWriter, _ *http.Request, body []byte) (any, error) {
	request, err := parsePause(body)
	if err != nil {
		return nil, invalid("%v", err)
	}
	return s.backend.Pause(request)
}

// stop answers when clients have been told that the agent ends, which it does right after.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) error {
	list, limit := StopList(r.URL.Query().Get("list")), s.limits.push
	switch list {
	case ListByPolicy, ListEmpty:
	case ListUnmuted:
		withoutTimeLimit(w)
		limit = MaxUpdate
	default:
		return invalid("list: want empty or unmuted, not %.40q", list)
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	s.backend.Stop(ctx, list)
	return nil
}

func (s *Server) logLevel(_ http.ResponseWriter, _ *http.Request, body []byte) (any, error) {
	var wanted LogLevel
	_, err := decode(body, &wanted)
	if err == nil {
		err = checkText("level", wanted.Level, maxOwner)
	}
	if err == nil {
		err = s.backend.SetLogLevel(wanted.Level)
	}
	if err != nil && !errors.As(err, new(*Refusal)) {
		err = invalid("%v", err)
	}
	return nil, err
}

// push applies the body to the product in the path.
func (s *Server) push(_ http.ResponseWriter, r *http.Request, body []byte) (any, error) {
	request, err := parsePush(body)
	if err != nil {
		return nil, invalid("%v", err)
	}
	c := connOf(r)
	if request.TTLms == 0 && r.Close {
		return nil, invalid("without ttl_ms a push lives as long as its connection, and this request closes it: " +
			"give ttl_ms, or keep the connection open")
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.limits.push)
	defer cancel()
	answer, err := s.backend.Push(ctx, r.PathValue("product"), request, c.holder)
	if request.TTLms == 0 && !errors.As(err, new(*Refusal)) {
		c.hold() // also when it is not known whether it was applied
	}
	return answer, err
}

// upgrade answers when the program on disk has shown that it starts, and this one is about to make way for it.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) error {
	withoutTimeLimit(w)
	return s.backend.Upgrade(r.Context())
}

// withoutTimeLimit lifts the time limit of a request whose answer may take long.
func withoutTimeLimit(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}
