package fakeserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// ServeHTTP answers one request as the client does, or as the fault demands.
func (r *run) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.wg.Add(1)
	defer r.wg.Done()
	transport := HTTP
	if websocket.IsWebSocketUpgrade(req) {
		transport = WebSocket
	}
	s := r.srv
	if f, ok := s.hit(transport, FaultHang, FaultSquatter); ok {
		s.notAClient(w, req, f.Kind)
		return
	}
	switch path := req.URL.Path; {
	case transport == WebSocket && path == "/" && !s.opts.NoWebSocket:
		s.serveWebSocket(w, req)
	case transport == WebSocket:
		s.notFound(w)
	case path == "/rpc" && req.Method == http.MethodPost && !s.opts.NoHTTP:
		s.serveRPC(w, req)
	case path == "/rpc" && req.Method == http.MethodGet && !s.opts.NoFingerprint:
		s.probed()
		w.WriteHeader(http.StatusMovedPermanently)
	default:
		s.probed()
		s.notFound(w)
	}
}

func (s *Server) probed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Probes++
	s.notify()
}

// notFound answers what the client answers to all it does not know, the one
// sign by which it is told from other programs (rule R8).
func (s *Server) notFound(w http.ResponseWriter) {
	if s.opts.NoFingerprint {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	write(w, http.StatusNotFound, "application/json", []byte(notFoundBody))
}

// notAClient treats a request as a program does that is not the client or no
// longer works, and records what was confided to it.
func (s *Server) notAClient(w http.ResponseWriter, req *http.Request, kind FaultKind) {
	p, err := s.readPayload(w, req)
	if err != nil {
		return
	}
	if req.Method == http.MethodPost {
		s.swallow(p, kind)
	}
	if kind == FaultHang {
		silence(req)
		return
	}
	write(w, http.StatusNotFound, "text/html; charset=utf-8", []byte(squatterBody))
}

func (s *Server) serveRPC(w http.ResponseWriter, req *http.Request) {
	if _, ok := s.hit(HTTP, FaultDie); ok {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		_, _ = io.CopyN(io.Discard, req.Body, max(req.ContentLength/2, 1))
		connOf(req).reset()
		return
	}
	p, err := s.readPayload(w, req)
	refusal := s.refusal(req)
	if err != nil {
		if refusal = oversize(err); refusal == nil {
			return // the peer went away before it had said all
		}
	}
	s.answer(w, req, s.receive(p, refusal), p.Time)
}

// readPayload reads the body of a request. The time is taken before anything
// else is done.
func (s *Server) readPayload(w http.ResponseWriter, req *http.Request) (Payload, error) {
	deadline := http.NewResponseController(w)
	_ = deadline.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxMessage))
	c := connOf(req)
	p := Payload{
		Time:      c.readAt(),
		Transport: HTTP,
		Conn:      c.id,
		ClientID:  req.URL.Query().Get("client_id"),
		Warnings:  requestWarnings(req),
	}
	if err != nil {
		return p, fmt.Errorf("read the body: %w", err)
	}
	p.Raw = body
	_ = deadline.SetReadDeadline(time.Time{}) // an unanswered request may wait for ever
	return p, nil
}

// oversize is the refusal of a body that was too large, nil for other errors.
func oversize(err error) *Rejection {
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		return reject(codeTooBig, "message: larger than %d bytes", tooBig.Limit)
	}
	return nil
}

// refusal says why the client would refuse a request without looking at its
// body; nil when it would not (rules R24 to R26, R43).
func (s *Server) refusal(req *http.Request) *Rejection {
	query, origin := req.URL.Query(), req.Header.Get("Origin")
	switch kind := req.Header.Get("Content-Type"); {
	case kind != "application/json":
		return reject(0, "request: Content-Type %s, not exactly application/json: never answered", show(kind))
	case query.Get("v") != "1":
		return reject(0, "request: v is %s, not 1: never answered", show(query.Get("v")))
	case !s.opts.knowsClient(query.Get("client_id")):
		return reject(codeClientID, "request: client_id %s is not a known application", show(query.Get("client_id")))
	case origin != "" && !s.opts.allowsOrigin(origin):
		return reject(codeOrigin, "request: Origin %s is not registered", show(origin))
	}
	return nil
}

func requestWarnings(req *http.Request) []string {
	var warnings []string
	if origin := req.Header.Get("Origin"); origin != "" {
		warnings = append(warnings, fmt.Sprintf("request: Origin %s sent: a native program has none", show(origin)))
	}
	if req.ContentLength < 0 {
		warnings = append(warnings, "request: no Content-Length")
	}
	return warnings
}

func (s *Server) answer(w http.ResponseWriter, req *http.Request, v verdict, arrived time.Time) {
	c := connOf(req)
	switch {
	case v.do == ignore:
		silence(req)
	case v.do == hangUp:
		_ = c.Close()
	case v.delay > 0 && !c.sleep(arrived.Add(v.delay), req.Context().Done()):
		_ = c.Close()
	default:
		write(w, v.status, "application/json", v.body)
	}
}

// silence holds a request until its connection ends, and makes sure that
// net/http does not answer it then.
func silence(req *http.Request) {
	c := connOf(req)
	select {
	case <-c.closed:
	case <-req.Context().Done():
		_ = c.Close()
	}
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(len(body)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
