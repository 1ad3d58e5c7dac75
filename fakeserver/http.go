package fakeserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
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
	if f, ok := s.useFault(transport, FaultHang, FaultSquatter); ok {
		s.answerUnderFault(w, req, f.Kind)
		return
	}
	switch {
	case s.opts.Profile == Squatter:
		s.serveSquatter(w, req)
	case transport == WebSocket && !s.opts.NoWebSocket && s.opts.takesSocket(req.URL.Path):
		s.serveWebSocket(w, req)
	case transport == WebSocket:
		s.notFound(w)
	case s.opts.Profile == ArRPC:
		s.serveArRPC(w, req)
	default:
		s.serveHTTP(w, req)
	}
}

// takesSocket reports whether a WebSocket may be opened at a path (rule R77).
func (o Options) takesSocket(path string) bool {
	return path == "/" || o.Profile == ArRPC || o.Profile.isDesktop()
}

// serveHTTP answers a request that opens no WebSocket.
func (s *Server) serveHTTP(w http.ResponseWriter, req *http.Request) {
	if s.opts.Profile.isDesktop() {
		allowOrigin(w, req)
	}
	switch rpc := req.URL.Path == "/rpc" && !s.opts.NoHTTP; {
	case rpc && req.Method == http.MethodPost:
		s.serveRPC(w, req)
	case s.opts.NoFingerprint:
		s.count(&s.stats.Probes)
		s.notFound(w)
	case s.opts.Profile.isDesktop() && req.Method == http.MethodOptions:
		s.count(&s.stats.Probes)
		write(w, http.StatusOK, jsonType, []byte(optionsBody))
	case req.URL.Path == "/rpc" && req.Method == http.MethodGet:
		s.count(&s.stats.Probes)
		if s.badVersion(req) != nil {
			s.hang(w)
			return
		}
		w.WriteHeader(http.StatusMovedPermanently)
	default:
		s.count(&s.stats.Probes)
		s.notFound(w)
	}
}

// allowOrigin lets a page of any origin read the answer, as the client does (rule R83).
func allowOrigin(w http.ResponseWriter, req *http.Request) {
	if origin, sent := req.Header["Origin"]; sent {
		w.Header().Set("Access-Control-Allow-Origin", origin[0])
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
	}
}

// notFound answers what the client answers to all it does not know, the one
// sign by which it is told from other programs (rule R8).
func (s *Server) notFound(w http.ResponseWriter) {
	if s.opts.NoFingerprint {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	write(w, http.StatusNotFound, jsonType, []byte(notFoundBody))
}

// answerUnderFault treats a request as a program does that is not the client or no
// longer works.
func (s *Server) answerUnderFault(w http.ResponseWriter, req *http.Request, kind FaultKind) {
	if !s.recordIgnored(w, req, kind, fmt.Sprintf("fault %s: not taken", kind)) {
		return
	}
	if kind == FaultHang {
		silence(req)
		return
	}
	write(w, http.StatusNotFound, "text/html; charset=utf-8", []byte(squatterBody))
}

// serveSquatter answers as a program does that is not the client.
func (s *Server) serveSquatter(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		s.count(&s.stats.Probes)
	}
	s.recordIgnored(w, req, FaultNone, "profile squatter: not taken")
	write(w, http.StatusNotFound, "text/html; charset=utf-8", []byte(squatterBody))
}

// recordIgnored records a request that has reached a program which ignores it.
// It reports whether the whole request could be read.
func (s *Server) recordIgnored(w http.ResponseWriter, req *http.Request, kind FaultKind, reason string) bool {
	p, err := s.readPayload(w, req)
	if err == nil && req.Method == http.MethodPost {
		s.recordUnread(p, kind, reason)
	}
	return err == nil
}

// serveRPC takes a command. The token is taken when the head is there, the list
// applies when the body is (rule R87).
func (s *Server) serveRPC(w http.ResponseWriter, req *http.Request) {
	injected := s.draw(HTTP, payloadEvent)
	if _, ok := s.meetFault(HTTP, injected, FaultDie); ok {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		_, _ = io.CopyN(io.Discard, req.Body, max(req.ContentLength/2, 1))
		connOf(req).reset()
		return
	}
	d := delivery{Payload: s.payloadFrom(req), injected: injected, refusal: s.badRequest(req)}
	_, origin := req.Header["Origin"]
	d.noScope = s.opts.Profile.isDesktop() && origin
	var err error
	if d.refusal != nil {
		err = s.upload(w, req, nil).readAll(&d)
	} else {
		err = s.upload(w, req, s.limiter.join(d.ClientID)).readAll(&d)
	}
	switch tooLarge := oversize(err); {
	case errors.Is(err, errAbandoned):
		d.EndedBy, d.refusal = Sender, reject(0, "request: abandoned while it waited in line, dropped")
		s.receive(d)
		_ = connOf(req).Close()
		return
	case errors.Is(err, errDropped):
		d.EndedBy, d.refusal = Receiver, reject(0, "request: dropped with its connection, while it waited in line")
		s.receive(d)
		return
	case tooLarge != nil:
		d.refusal = tooLarge
	case err != nil:
		_ = connOf(req).Close() // the peer went away before it had said all
		return
	case d.refusal == nil:
		d.refusal = s.refusal(req)
	}
	s.answer(w, req, s.receive(d), d.Time)
}

// payloadFrom is what the head of a request says of a payload.
func (s *Server) payloadFrom(req *http.Request) Payload {
	return Payload{
		Transport: HTTP,
		Conn:      connOf(req).id,
		ClientID:  req.URL.Query().Get("client_id"),
		Warnings:  s.requestWarnings(req),
	}
}

// readPayload reads the whole body of a request. The time is taken before anything
// else is done.
func (s *Server) readPayload(w http.ResponseWriter, req *http.Request) (Payload, error) {
	d := delivery{Payload: s.payloadFrom(req)}
	err := s.upload(w, req, nil).readAll(&d)
	return d.Payload, err
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
func (s *Server) badRequest(req *http.Request) *Rejection {
	kind := req.Header.Get("Content-Type")
	if s.opts.Profile.isDesktop() {
		if _, sub, _ := strings.Cut(kind, "/"); sub != "json" {
			return reject(0, "request: Content-Type %s, not exactly json after its slash: never answered", show(kind))
		}
	} else if kind != jsonType {
		return reject(0, "request: Content-Type %s, not exactly application/json: never answered", show(kind))
	}
	return s.badVersion(req)
}

// badVersion says why the client would never answer a request for its version.
func (s *Server) badVersion(req *http.Request) *Rejection {
	query := req.URL.Query()
	switch v := query.Get("v"); {
	case s.opts.Profile.isDesktop() && goodVersion(queryValue(query, "v")):
	case s.opts.Profile.isDesktop() || v != "1" && req.Method == http.MethodPost:
		return reject(0, "request: v is %s, not 1: never answered", show(v))
	}
	return nil
}

// refusal says why the client would refuse a request for who sent it; nil when
// it would not (rules R24, R43).
func (s *Server) refusal(req *http.Request) *Rejection {
	id := req.URL.Query().Get("client_id")
	origin, sent := req.Header["Origin"]
	switch {
	case !s.opts.knowsClient(id):
		return reject(codeClientID, "request: client_id %s is not a known application", show(id))
	case sent && s.opts.refusesOrigin(origin[0]):
		return reject(codeOrigin, "request: Origin %s is not registered", show(origin[0]))
	}
	return nil
}

// refusesOrigin reports whether an HTTP request is refused for its origin. An
// empty one is one too to the real client (rule R24).
func (o Options) refusesOrigin(origin string) bool {
	return (origin != "" || o.Profile.isDesktop()) && !o.allowsOrigin(origin)
}

func (s *Server) requestWarnings(req *http.Request) []string {
	var warnings []string
	if origin, sent := req.Header["Origin"]; sent && (origin[0] != "" || s.opts.Profile.isDesktop()) {
		warnings = append(warnings, fmt.Sprintf("request: Origin %s sent: a native program has none", show(origin[0])))
	}
	if req.ContentLength < 0 {
		warnings = append(warnings, "request: no Content-Length")
	}
	return warnings
}

func (s *Server) answer(w http.ResponseWriter, req *http.Request, v verdict, arrived time.Time) {
	c := connOf(req)
	switch {
	case v.do == ignore && v.lost && s.opts.Profile.isDesktop():
		s.hang(w)
	case v.do == ignore:
		silence(req)
	case v.do == hangUp:
		_ = c.Close()
	case v.delay > 0 && !c.sleep(arrived.Add(v.delay), req.Context().Done()):
		_ = c.Close()
	case v.half:
		begin(w, v.status, jsonType, len(v.body))
		_, _ = w.Write(v.body[:len(v.body)/2])
		_ = http.NewResponseController(w).Flush()
		silence(req)
		_ = c.Close()
	default:
		write(w, v.status, jsonType, v.body)
	}
}

// hang leaves a request unanswered. What follows on the connection is refused
// without a word of why, and ends it (rule R82).
func (s *Server) hang(w http.ResponseWriter) {
	raw, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	c := raw.(*conn)
	defer c.Close()
	if _, err := ahead.Peek(1); err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(closeTimeout))
	if _, err := io.WriteString(c, bareRefusal); err == nil {
		c.finish()
		_, _ = io.Copy(io.Discard, ahead) // closing on unread data would reset the connection
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
