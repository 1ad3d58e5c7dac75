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
	if s.opts.Profile == Squatter {
		s.squat(w, req)
		return
	}
	switch path := req.URL.Path; {
	case transport == WebSocket && !s.opts.NoWebSocket && (path == "/" || s.opts.Profile == ArRPC):
		s.serveWebSocket(w, req)
	case transport == WebSocket:
		s.notFound(w)
	case s.opts.Profile == ArRPC:
		s.serveArRPC(w, req)
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
// longer works.
func (s *Server) notAClient(w http.ResponseWriter, req *http.Request, kind FaultKind) {
	if !s.confide(w, req, kind, fmt.Sprintf("fault %s: not taken", kind)) {
		return
	}
	if kind == FaultHang {
		silence(req)
		return
	}
	write(w, http.StatusNotFound, "text/html; charset=utf-8", []byte(squatterBody))
}

// squat answers as a program does that is not the client.
func (s *Server) squat(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		s.probed()
	}
	if s.confide(w, req, FaultNone, "profile squatter: not taken") {
		write(w, http.StatusNotFound, "text/html; charset=utf-8", []byte(squatterBody))
	}
}

// confide records what was confided to a program that is no use to the peer.
// It reports whether the whole request could be read.
func (s *Server) confide(w http.ResponseWriter, req *http.Request, kind FaultKind, reason string) bool {
	p, err := s.readPayload(w, req)
	if err == nil && req.Method == http.MethodPost {
		s.swallow(p, kind, reason)
	}
	return err == nil
}

func (s *Server) serveRPC(w http.ResponseWriter, req *http.Request) {
	fate := s.draw(HTTP, payloadEvent)
	if _, ok := s.meet(HTTP, fate, FaultDie); ok {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		_, _ = io.CopyN(io.Discard, req.Body, max(req.ContentLength/2, 1))
		connOf(req).reset()
		return
	}
	p, err := s.readPayload(w, req)
	refusal := badRequest(req)
	if err != nil {
		if refusal = oversize(err); refusal == nil {
			return // the peer went away before it had said all
		}
	}
	if refusal == nil {
		if !s.limiter.join(p.ClientID).wait(connOf(req).closed, req.Context().Done()) {
			_ = connOf(req).Close()
			return
		}
		refusal = s.refusal(req)
	}
	noScope := s.opts.Profile.real() && req.Header.Get("Origin") != ""
	s.answer(w, req, s.receive(delivery{Payload: p, refusal: refusal, noScope: noScope, fate: fate}), p.Time)
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

// badRequest says why the client would never answer a request; nil when it
// would (rules R25, R26). Such a request costs no token.
func badRequest(req *http.Request) *Rejection {
	kind, v := req.Header.Get("Content-Type"), req.URL.Query().Get("v")
	switch {
	case kind != "application/json":
		return reject(0, "request: Content-Type %s, not exactly application/json: never answered", show(kind))
	case v != "1":
		return reject(0, "request: v is %s, not 1: never answered", show(v))
	}
	return nil
}

// refusal says why the client would refuse a request for who sent it; nil when
// it would not (rules R24, R43).
func (s *Server) refusal(req *http.Request) *Rejection {
	id, origin := req.URL.Query().Get("client_id"), req.Header.Get("Origin")
	switch {
	case !s.opts.knowsClient(id):
		return reject(codeClientID, "request: client_id %s is not a known application", show(id))
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
	case v.half:
		begin(w, v.status, "application/json", len(v.body))
		_, _ = w.Write(v.body[:len(v.body)/2])
		_ = http.NewResponseController(w).Flush()
		silence(req)
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
	begin(w, status, contentType, len(body))
	_, _ = w.Write(body)
}

// begin writes the head of an answer whose body has so many bytes.
func begin(w http.ResponseWriter, status int, contentType string, size int) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(size))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
}
